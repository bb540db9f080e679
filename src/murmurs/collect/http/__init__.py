"""HTTP: connections, limits, routes, and what goes back to a client."""
