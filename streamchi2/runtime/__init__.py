"""How work runs: threads, BLAS limits, interrupts and warnings."""
