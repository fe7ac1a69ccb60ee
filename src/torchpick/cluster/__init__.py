"""What are the machines of a cluster? Asked through what runs there: srun, kubectl, ray, ssh or pdsh."""
