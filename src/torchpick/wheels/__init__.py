"""What a wheel was built for, read out of its bytes."""
