# Install tree and package files.
