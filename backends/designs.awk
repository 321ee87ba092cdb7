# SPDX-License-Identifier: MIT
# Reads the sources below this folder and writes designs.c: what a protocol's file says of it, so that a built tool can show it without the
# sources (registry.h, struct lb_design). That is the comment above its code that begins with its name ("/* NAME - ..."), or else the first
# comment of the file without the line of the licence. A file without a table of hooks adds nothing. What stands before each line (" * ") is left out.

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
  sub(/.*\/backends\//, "", file) # SERVICE/NAME.c
  of = ""
  reading = 1
  split("", head)
  table = 0
  next
}

/^\/\* [a-z][a-z0-9-]* - / {
  of = $2
  reading = 1
}

reading {
  last = sub(/ *\*\/$/, "")
  sub(/^(\/\*| \*)? ?/, "")
  if ($0 != "" || (head[of] != "" && !last)) head[of] = head[of] "\n     " quoted($0)
  if (last) reading = 0
  next
}

/^const struct lb_protocol lb_/ { table = 1 }

table && /^ *\.name = "/ {
  name = $0
  sub(/^[^"]*"/, "", name)
  sub(/".*/, "", name)
  if (head[name] == "") head[name] = head[""]
  print "    {\"" name "\", \"" file "\",\n    " (head[name] == "" ? " \"\"" : substr(head[name], 2)) "},"
  table = 0
}

END { print "    {0},\n};" }
