#' One line for each harbour
#'
#' @param gauges A list of levels by harbour.
tide_table <- function(gauges) {
  rows <- character(0)
  for (harbour in names(gauges)) {
    level <- mean_level(gauges[[harbour]])
    rows <- c(rows, sprintf("%s: %.2f m", harbour, level))
  }
  rows
}
