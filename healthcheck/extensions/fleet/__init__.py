"""Many verifications on many machines. A launch on a machine is the kit's own `verify`; Ray distributes them."""
