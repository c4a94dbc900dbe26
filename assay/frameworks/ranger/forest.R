# A random forest by ranger: reads {job}, writes {job}/out; see docs/contract.md.

words <- commandArgs(trailingOnly = TRUE)
out <- file.path(words[1], "out")
say <- function(phase) cat(phase, "\n", sep = "", file = Sys.getenv("ASSAY_PHASES"), append = TRUE)

# What is missing on this machine is told before `load` and without jsonlite, which may be what is missing.
refuse <- function(message) {
  said <- '{"schema": 1, "import_failed": true, "error": {"type": "NotInstalled", "message": "%s"}}'
  writeLines(sprintf(said, message), file.path(out, "report.json"))
  quit(status = 1)
}
for (package in c("jsonlite", "ranger")) {
  if (!requireNamespace(package, quietly = TRUE)) {
    refuse(sprintf("R has no package %s. Install it, for example Debian's r-cran-%s.", package, package))
  }
}
installed <- as.character(packageVersion("ranger"))
if (installed != words[2]) refuse(sprintf("R has ranger %s, this framework is version %s.", installed, words[2]))

write_json <- function(what) {
  jsonlite::write_json(what, file.path(out, "report.json"), auto_unbox = TRUE, digits = NA)
}
read_table <- function(name) {
  read.csv(file.path(words[1], name), check.names = FALSE, colClasses = "character", na.strings = character(),
           blank.lines.skip = FALSE, encoding = "UTF-8")
}
seconds <- function() unname(proc.time()["elapsed"])

# One column as ranger wants it: numbers, days, or a factor in which missing is a level of its own.
typed <- function(cells, column) {
  switch(column$kind,
    numeric = as.numeric(cells),
    boolean = match(cells, c("false", "true")) - 1,
    date = as.numeric(as.POSIXct(cells, format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")) / 86400,
    categorical = factor(cells, levels = c(unlist(column$categories), ""))
  )
}
features <- function(table) {
  kept <- which(vapply(job$columns, function(column) column$kind != "text", TRUE))
  data <- lapply(kept, function(i) typed(table[[i]], job$columns[[i]]))
  names(data) <- paste0("c", kept - 1)
  data.frame(data, none = rep(0, nrow(table)))  # ranger refuses a table without columns
}
fill <- function(data, medians) {
  for (name in names(medians)) data[[name]][is.na(data[[name]])] <- medians[[name]]
  data
}

say("load")
job <- jsonlite::fromJSON(file.path(words[1], "job.json"), simplifyDataFrame = FALSE)
stopifnot(job$schema == 1)
is_regression <- job$type == "regression"
table <- read_table("train.csv")
X <- features(table)
y <- table[[ncol(table)]]
y <- if (is_regression) as.numeric(y) else factor(paste0("k", match(y, job$classes)))
test <- features(read_table("test.csv"))

say("fit")
began <- seconds()
medians <- lapply(Filter(is.numeric, X), function(x) if (all(is.na(x))) 0 else median(x, na.rm = TRUE))
own <- job$params[!startsWith(names(job$params), "_")]
forest <- do.call(ranger::ranger, c(own, list(
  x = fill(X, medians), y = y, probability = !is_regression, num.threads = job$cores, seed = max(1, job$seed)
)))  # to ranger the seed 0 is none
fit_s <- seconds() - began

say("predict")
began <- seconds()
answer <- function(rows) predict(forest, fill(rows, medians), num.threads = job$cores)$predictions
said <- answer(test)
result <- data.frame(row = seq_len(job$n_test) - 1L)  # integers: a number may be written as 1e+05
if (is_regression) {
  result$prediction <- said
} else {
  p <- matrix(0, job$n_test, length(job$classes))
  p[, as.integer(substring(colnames(said), 2))] <- said
  result$prediction <- job$classes[max.col(p, ties.method = "first")]
  for (i in seq_along(job$classes)) result[[paste0("p", i - 1)]] <- p[, i]
}
partial <- file.path(out, "predictions.csv.partial")
write.csv(result, partial, row.names = FALSE, fileEncoding = "UTF-8")
invisible(file.rename(partial, file.path(out, "predictions.csv")))
report <- list(schema = 1, models_count = 1, oob_error = forest$prediction.error, r = as.character(getRversion()),
               phases = list(fit = fit_s, predict = seconds() - began))
write_json(report)

say("timing")
report$timing <- list()
for (size in job$batch_sizes) {
  batch <- test[(seq_len(size) - 1) %% job$n_test + 1, ]
  times <- c()
  while (length(times) < 10 && sum(times) < 1) times <- c(times, unname(system.time(answer(batch))["elapsed"]))
  report$timing[[format(size, scientific = FALSE)]] <- list(median_s = median(times), repeats = length(times))
}
write_json(report)
say("end")
