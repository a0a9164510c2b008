#' Warns of a flood
#'
#' @param levels Levels in metres.
flood_warning <- function(levels) {
  usual <- mean_level(levels)
  top <- highest(levels)
  if (top > usual + 2) {
    return("flood")
  }
  "calm"
}
