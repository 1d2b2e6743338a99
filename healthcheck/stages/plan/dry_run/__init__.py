"""The dry run: deploy.sh runs in a sandbox against stubs that record what it starts."""
