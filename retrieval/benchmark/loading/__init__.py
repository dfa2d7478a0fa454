"""What is searched: invented agents in a scratch tenant, and the yardstick beside each of them."""
