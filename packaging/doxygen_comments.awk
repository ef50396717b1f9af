# Makes Doxygen's comments of plain ones, for packaging/Doxyfile: `//` before a declaration becomes `///`, `//` behind one
# `///<`, and the comment at the head of a file is the file's. Examples, which stand three spaces behind the `//`, become
# blocks of code.

# The text without what Doxygen would take for commands or tags; in backquotes it takes everything as it is.
function plain(text,   parts, count, i, result) {
  count = split(text, parts, "`")
  for (i = 1; i <= count; ++i) {
    if (i % 2 == 1) gsub(/[\\@<>#%]/, "\\\\&", parts[i])
    result = result (i > 1 ? "`" : "") parts[i]
  }
  return result
}

function comment(text) {
  # Four spaces are a block of code.
  if (text ~ /^   / && (in_code || blank)) {
    in_code = 1
    return " " "    " substr(text, 2)
  }
  in_code = text == "" && in_code
  blank = text == ""
  return plain(text)
}

FNR == 1 { head = 1; in_code = 0; blank = 1 }

head && /^\/\// {
  if (FNR == 1) print "/// \\file"
  print "///" comment(substr($0, 3))
  next
}
{ head = 0 }

/^ *\/\// {
  indent = match($0, /\//) - 1
  if (!in_comment) { in_code = 0; blank = 1 }
  in_comment = 1
  print substr($0, 1, indent) "///" comment(substr($0, indent + 3))
  next
}
{ in_comment = 0 }

# Behind a declaration, not in a string.
/[;,{)] +\/\/ / && !/"[^"]*\/\/[^"]*"/ {
  place = match($0, / \/\/ /)
  print substr($0, 1, place) "///< " plain(substr($0, place + 4))
  next
}
{ print }
