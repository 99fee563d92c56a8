"""Events to hold against a claim, proposed by attacks that look at earlier draws."""
