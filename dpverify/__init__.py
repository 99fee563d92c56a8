"""dpverify: tell whether a differential-privacy claim is true."""
