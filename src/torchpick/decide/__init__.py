"""Which build? Machine × Table × Wish → Pick, for one machine or many. Pure."""
