#' The range of a tide
tidal_range <- function(levels {
  max(levels) - min(levels)
}
