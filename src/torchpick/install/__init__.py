"""How is a pick handed over? Plan, run, verify, pin, lock."""
