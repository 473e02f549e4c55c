#!/bin/sh
# The golden bytes of tests/wire against the values that they stand for.
exec tests/wire/golden.py
