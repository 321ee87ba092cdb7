# SPDX-License-Identifier: MIT
# Reads the sources below this folder and writes designs.c: what a protocol's file says of it, so that a built tool can show it without the
# sources (registry.h, struct lb_design). That is the part of the first comment that begins with its name ("NAME - ..."), or else the first such part.
# A file without a table of hooks adds nothing. The licence and what stands before each line (" * ") are left out.

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
  of = first = ""
  reading = 1
  split("", head)
  table = 0
  next
}

reading {
  last = sub(/ *\*\/$/, "")
  sub(/^ \*? ?/, "")
  if (/^[a-z][a-z0-9-]* - /) {
    of = $1
    if (first == "") first = of
  }
  if ($0 != "" || (head[of] != "" && !last)) head[of] = head[of] "\n     " quoted($0)
  if (last) reading = 0
  next
}

/^const struct lb_protocol lb_/ { table = 1 }

table && /^ *\.name = "/ {
  name = $0
  sub(/^[^"]*"/, "", name)
  sub(/".*/, "", name)
  text = name in head ? head[name] : head[first]
  sub(/(\n     "\\n")+$/, "", text) # the empty line before the next part
  print "    {\"" name "\", \"" file "\",\n    " (text == "" ? " \"\"" : substr(text, 2)) "},"
  table = 0
}

END { print "    {0},\n};" }
