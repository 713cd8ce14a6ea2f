"""What a stream is remembered by: statistics with update, merge and plain state."""
