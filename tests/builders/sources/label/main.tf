locals {
  defaults = {
    order       = ["namespace", "environment", "stage", "name", "attributes"]
    delimiter   = "-"
    replacement = ""
    # What remains after everything else was thrown away.
    allowed = "/[^a-zA-Z0-9-]/"
  }

  # Each value: what is set here, else what the context brings, else nothing.
  enabled     = var.enabled == null ? var.context.enabled : var.enabled
  namespace   = var.namespace == null ? var.context.namespace : var.namespace
  environment = var.environment == null ? var.context.environment : var.environment
  stage       = var.stage == null ? var.context.stage : var.stage
  name        = var.name == null ? var.context.name : var.name
  delimiter   = coalesce(var.delimiter, var.context.delimiter, local.defaults.delimiter)
  order       = coalescelist(var.label_order, var.context.label_order, local.defaults.order)
  attributes  = compact(distinct(concat(var.context.attributes, var.attributes)))
  letter_case = coalesce(var.letter_case, var.context.letter_case, "lower")
#: until 1.0.0
  id_limit    = var.context.id_length_limit
#: end
#: since 1.1.0
  id_limit    = var.id_length_limit == null ? var.context.id_length_limit : var.id_length_limit
#: end

  parts = {
    namespace   = local.namespace
    environment = local.environment
    stage       = local.stage
    name        = local.name
    attributes  = join(local.delimiter, local.attributes)
  }

  cleaned = { for key, value in local.parts : key => replace(coalesce(value, " "), local.defaults.allowed, local.defaults.replacement) }

  formatted = { for key, value in local.cleaned : key => (
    local.letter_case == "none" ? value :
    local.letter_case == "title" ? title(lower(value)) :
    local.letter_case == "upper" ? upper(value) : lower(value)
  ) }

  id_full  = join(local.delimiter, [for key in local.order : local.formatted[key] if length(local.formatted[key]) > 0])
  id_hash  = substr(md5(local.id_full), 0, 5)
  id_short = local.id_limit == 0 ? local.id_full : "${substr(local.id_full, 0, max(0, local.id_limit - 6))}${local.delimiter}${local.id_hash}"
  id       = local.id_limit != 0 && length(local.id_full) > local.id_limit ? local.id_short : local.id_full

  tags = merge(var.context.tags, { for key, value in local.formatted : title(key) => value if value != "" }, var.tags)

  tags_as_list = [for key, value in local.tags : {
    key                 = key
    value               = value
    propagate_at_launch = true
  }]

  context = {
    enabled         = local.enabled
    namespace       = local.namespace
    environment     = local.environment
    stage           = local.stage
    name            = local.name
    delimiter       = local.delimiter
    attributes      = local.attributes
    tags            = local.tags
    label_order     = local.order
    letter_case     = local.letter_case
    id_length_limit = local.id_limit
  }
}
