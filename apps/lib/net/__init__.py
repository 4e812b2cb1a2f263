"""What HTTP in and out share: bodies, peers behind proxies, host names, requests to servers of others."""
