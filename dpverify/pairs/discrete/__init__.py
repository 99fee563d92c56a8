"""Integer noise: discrete Laplace and discrete Gaussian."""
