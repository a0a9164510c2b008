#' The mean water level
#'
#' @param levels Levels in metres.
#' @return One number, 0 without levels.
mean_level <- function(levels) {
  if (length(levels) == 0) {
    return(0)
  }
  sum(levels) / length(levels)
}

#' The highest level of a day
#'
#' @param levels Levels in metres.
highest <- function(levels) {
  max(levels)
}
