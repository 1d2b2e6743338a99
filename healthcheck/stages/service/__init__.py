"""The service stage: launches deploy.sh as the service would, supervises it until it answers, and stops it."""
