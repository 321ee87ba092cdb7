# SPDX-License-Identifier: MIT
# Reads the sources of this folder and writes designs.c: what each protocol's file says at its head, so that a built tool can show it
# without the sources (registry.h, struct lb_design). A file without a table of hooks adds nothing, one with two tables the same text twice.
# The head is the first comment, without the line of the licence; what stands before it on each line (" * ") is left out.

function quoted(text) {
  gsub(/\\/, "&&", text)
  gsub(/"/, "\\\"", text)
  gsub(/\?\?/, "?\"\"?", text) # or it might be a trigraph
  gsub(/\t/, "  ", text)
  return "\"" text "\\n\""
}

BEGIN {
  print "/* Made by designs.awk from the heads of the protocols' files. */"
  print "#include \"registry.h\""
  print "const struct lb_design lb_designs[] = {"
}

FNR == 1 {
  file = FILENAME
  sub(/.*\//, "", file)
  head = ""
  state = "head"
  table = 0
}

state == "head" && FNR > 1 {
  last = sub(/ *\*\/$/, "")
  sub(/^ \*? ?/, "")
  if ($0 != "" || (head != "" && !last)) head = head "\n     " quoted($0)
  if (last) state = "code"
  next
}

/^const struct lb_protocol lb_/ { table = 1 }

table && /^ *\.name = "/ {
  name = $0
  sub(/^[^"]*"/, "", name)
  sub(/".*/, "", name)
  print "    {\"" name "\", \"" file "\",\n    " (head == "" ? " \"\"" : substr(head, 2)) "},"
  table = 0
}

END { print "    {0},\n};" }
