#' Test whether the status quo can be made more accurate for every group and less uneven between them.
audit <- function(formula, status_quo, data, rule = NULL, features = NULL, exclude = NULL, target = NULL,
                  capacity = NULL, accuracy = NULL, fairness = NULL, claim = NULL, test = NULL, groups = NULL,
                  weight = NULL, cluster = NULL, stratum = NULL, row_id = NULL, constraints = NULL, read = NULL,
                  seed = NULL, n_jobs = NULL, run_folder = NULL, ...) {
  given <- list(
    status_quo = status_quo, rule = rule, features = features, exclude = exclude, target = target,
    capacity = capacity, accuracy = accuracy, fairness = fairness, claim = claim, test = test, weight = weight,
    cluster = cluster, stratum = stratum, row_id = row_id, constraints = constraints, read = read, seed = seed,
    n_jobs = n_jobs, run_folder = run_folder, ...
  )
  run_test("audit", formula, data, groups, given)
}

#' Test whether a candidate is more accurate for every group and has a smaller gap than the status quo.
compare <- function(formula, status_quo, candidate, data, accuracy = NULL, fairness = NULL, claim = NULL, test = NULL,
                    groups = NULL, weight = NULL, cluster = NULL, stratum = NULL, read = NULL, seed = NULL,
                    n_jobs = NULL, ...) {
  given <- list(
    status_quo = status_quo, candidate = candidate, accuracy = accuracy, fairness = fairness, claim = claim,
    test = test, weight = weight, cluster = cluster, stratum = stratum, read = read, seed = seed, n_jobs = n_jobs, ...
  )
  run_test("compare", formula, data, groups, given)
}

run_test <- function(test, formula, data, groups, given) {
  if (is.data.frame(formula) && inherits(data, "formula")) { # data |> audit(y ~ group, ...)
    piped <- formula
    formula <- data
    data <- piped
  }
  asked <- read_formula(formula, groups)
  given <- given[!vapply(given, is.null, NA)]
  if (is.null(names(given)) || any(names(given) == "")) {
    stop_improvable("an argument has no name. Name every argument after the formula: status_quo = , data = .")
  }
  for (name in intersect(c("status_quo", "candidate"), names(given))) check_decider(name, given[[name]])
  python <- helper()
  settings <- Map(plain, names(given), given)
  settings <- c(list(outcome = asked$outcome, group = plain("groups", asked$group)), settings)
  answer <- python$run(test, send_data(data, asked$columns), settings)
  make_result(value_of(answer))
}

# y ~ race + sex: each column's groups; y ~ race:sex: their intersections.
read_formula <- function(formula, groups) {
  if (!inherits(formula, "formula") || length(formula) != 3) {
    stop_improvable("the question has no formula. Say it as outcome ~ group, such as repaid ~ race.")
  }
  outcome <- terms_of(formula[[2]], "~", "formula")
  crossed <- is.call(formula[[3]]) && identical(formula[[3]][[1]], as.name(":"))
  probable <- inherits(groups, "improvable_groups") && !is.null(groups$given$probabilities)  # repaid ~ 1
  columns <- if (probable) character() else terms_of(formula[[3]], if (crossed) ":" else "+", "formula")
  if (!is.null(groups) && !inherits(groups, "improvable_groups")) {
    stop_improvable(paste0("`groups` is ", a_class(groups), ". Give group_levels(...)."))
  }
  said <- if (is.null(groups)) list() else groups$given
  if (!is.null(said$only)) said$only <- as.list(as.character(said$only))
  if (crossed) said$cross <- TRUE
  group <- if (length(said)) setting("Groups", c(list(columns = as.list(columns)), said)) else columns
  list(outcome = outcome, columns = columns, group = group)
}

check_decider <- function(name, value) {
  if (is.function(value)) refuse_function(name)
  known <- inherits(value, c("improvable_threshold", "formula", "python.builtin.object"))
  if (!known && !(is.character(value) && length(value) == 1)) {
    stop_improvable(paste0(
      "`", name, "` is ", a_class(value), " of length ", length(value),
      ". Name a column of decisions, ", name, " = ~ decision, or give threshold(...)."
    ))
  }
}
