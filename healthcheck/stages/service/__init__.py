"""The service stage: deploy.sh launched as the service would, supervised until its first answer, and stopped."""
