"""`python -m dpverify`: the command line."""

from dpverify.cli import main

if __name__ == "__main__":
    main()
