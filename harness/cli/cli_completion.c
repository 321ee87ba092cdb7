/* SPDX-License-Identifier: MIT
 *
 * `lockbench completion`: the completion of three shells and the manual page, all out of the tables of commands and
 * options that the help comes from. The build calls it for `meson install`.
 */
#include "cli.h"

#include <string.h>

#include "scenario/scenario.h"
#include "version.h"

/* ---- what stands where a command takes words --------------------------------------------------------------------- */

/* The tables of `list` whose first column completes them, "scenarios protocols"; "" = files. */
static const char *lists_of(const struct lb_cli_command *command) {
  static const struct {
    const char *word, *lists;
  } rows[] = {{"SCENARIO...", "scenarios"},
              {"SUITE", "suites"},
              {"TOPOLOGY [-- COMMAND]", "topologies"},
              {"NAME", "protocols topologies scenarios"},
              {"LOCK", "protocols peers"},
              {"[SYSTEM...]", "protocols"},
              {"SYSTEM...|all", "protocols"},
              {"[SYSTEM] [DIR]", "protocols"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(command->words, rows[i].word) == 0) return rows[i].lists;
  return "";
}

/* Those it names itself, "bash zsh": lower case between bars. */
static void put_literals(const struct lb_cli_command *command) {
  const char *between = "";
  for (const char *at = command->words; *at; at += strcspn(at, "[]| "), at += strspn(at, "[]| ")) {
    size_t length = strcspn(at, "[]| ");
    if (length == 0 || strspn(at, "abcdefghijklmnopqrstuvwxyz") != length) continue;
    printf("%s%.*s", between, (int)length, at);
    between = " ";
  }
}

static void put_guards(void) {
  for (int i = 0; i < LB_GUARD_COUNT; i++) printf("%s%s", i ? " " : "", lb_guard_name((enum lb_guard)i));
}

static void put_options(const struct lb_cli_command *command) {
  const char *between = "";
  for (const struct lb_cli_option *o = NULL; (o = lb_cli_option_next(o, command->takes)); between = " ")
    printf("%s%s%s%s", between, o->name, o->alias ? " " : "", o->alias ? o->alias : "");
}

/* In single quotes, as all three shells read it. */
static void put_quoted(const char *text) {
  for (putchar('\''); *text; text++) {
    if (*text == '\'') fputs("'\\''", stdout);
    else putchar(*text);
  }
  putchar('\'');
}

static void put_command_names(void) {
  for (size_t i = 0; lb_cli_commands[i]; i++) printf("%s ", lb_cli_commands[i]->name);
  fputs("help --help --version", stdout);
}

/* ---- bash -------------------------------------------------------------------------------------------------------- */

/* ./bench is called as its user calls it, but only lockbench itself is asked: a completion installs and builds nothing.
 * Bash takes '@', ':' and '=' for ends of words (an '@' begins the next). So the word is taken from the line, and the
 * part before the last of them is not repeated. A cell is SCENARIO.SYSTEM.GUARD of the table of trials. */
static const char bash_begin[] =
    "_lockbench() {\n"
    "  local line=${COMP_LINE:0:COMP_POINT} tool=${1/#\\~/$HOME} options='' lists='' words='' list done=''\n"
    "  local word=${line##*[[:space:]]} before=${COMP_WORDS[COMP_CWORD - 1]} at=$COMP_CWORD\n"
    "  [[ $tool != */* && -n $(type -P -- \"$tool\") ]] && tool=$(readlink -f -- \"$(type -P -- \"$tool\")\")\n"
    "  if [[ -x ${tool%/*}/build/lockbench ]]; then tool=${tool%/*}/build/lockbench; fi\n"
    "  if [[ $word == *[@:=]* ]]; then\n"
    "    before=${line%\"$word\"}; before=${before%\"${before##*[![:space:]]}\"}; before=${before##*[[:space:]]}\n"
    "  fi\n"
    "  COMPREPLY=()\n"
    "  if ((COMP_CWORD == 1)); then\n"
    "    words='";
static const char bash_end[] =
    "' ;;\n"
    "    -b | --systems | --topologies)\n"
    "      done=, lists=protocols words=''\n"
    "      [[ \" $options \" != *' --topologies '* ]] || lists=topologies ;;\n"
    "    -o | --out | --junit | --resume | --plugin | --auth | --against) return ;;\n"
    "  esac\n"
    "  if [[ $done == , ]]; then done=${word%\"${word##*,}\"} word=${word##*,}; fi\n"
    "  if [[ $lists == protocols* && $word == *@* ]]; then lists=topologies done+=${word%%@*}@ word=${word#*@}; fi\n"
    "  if [[ $word == -* ]]; then lists='' words=$options; fi\n"
    "  for list in $lists; do words+=\" $(\"$tool\" list \"$list\" 2>/dev/null | cut -d' ' -f1)\"; done\n"
    "  [[ ${COMP_WORDS[1]} != peers ]] || words=${words//peer:/}\n"
    "  if [[ ${COMP_WORDS[1]} == @(explain|shrink) && $before != -* && -f $before/trials.csv ]]; then\n"
    "    words=$(cut -d, -f1-3 -- \"$before/trials.csv\" | tail -n +2 | sort -u | sed 's/,none$//; s/,/./g')\n"
    "  fi\n"
    "  mapfile -t COMPREPLY < <(compgen -P \"$done\" -W \"$words\" -- \"$word\")\n"
    "  word=$done$word word=${word%\"${word##*[@:=]}\"}\n"
    "  COMPREPLY=(\"${COMPREPLY[@]#\"${word%@}\"}\")\n"
    "}\n"
    "complete -o default -F _lockbench lockbench bench\n";

static void put_bash(void) {
  fputs("# bash completion for lockbench, printed by `lockbench completion bash`\n", stdout);
  fputs(bash_begin, stdout);
  put_command_names();
  fputs("'\n    [[ $1 != *bench || $1 == *lockbench ]] || words+=' test peers docs paper'\n  fi\n"
        "  ((COMP_CWORD == 1)) || case ${COMP_WORDS[1]} in\n",
        stdout);
  for (size_t i = 0; lb_cli_commands[i]; i++) {
    const struct lb_cli_command *command = lb_cli_commands[i];
    printf("    %s) options='", command->name);
    put_options(command);
    printf("' lists='%s' words='", lists_of(command));
    put_literals(command);
    fputs("' ;;\n", stdout);
  }
  fputs("    peers) lists=peers ;;\n    help) words='", stdout);
  put_command_names();
  fputs("' ;;\n  esac\n  case $before in\n    -g | --guard) lists='' words='", stdout);
  put_guards();
  fputs(bash_end, stdout);
}

/* ---- zsh --------------------------------------------------------------------------------------------------------- */

/* _describe splits at the first colon, and reads \: as one. */
static void put_described(const char *name, const char *what) {
  char text[1000];
  size_t length = 0;
  for (const char *at = name; *at && length < sizeof text - 3; at++) {
    if (*at == ':') text[length++] = '\\';
    text[length++] = *at;
  }
  snprintf(text + length, sizeof text - length, ":%s", what);
  put_quoted(text);
  putchar(' ');
}

static void put_zsh(void) {
  fputs("#compdef lockbench bench\n"
        "# printed by `lockbench completion zsh`\n"
        "local -a commands options words_\n"
        "local lists='' tool=${~words[1]} list\n"
        "if [[ -x ${tool:h}/build/lockbench ]]; then tool=${tool:h}/build/lockbench; fi\n"
        "commands=(",
        stdout);
  for (size_t i = 0; lb_cli_commands[i]; i++) put_described(lb_cli_commands[i]->name, lb_cli_commands[i]->what);
  fputs(")\nif ((CURRENT == 2)); then _describe command commands; return; fi\ncase $words[2] in\n", stdout);
  for (size_t i = 0; lb_cli_commands[i]; i++) {
    const struct lb_cli_command *command = lb_cli_commands[i];
    printf("  %s) lists='%s' words_=(", command->name, lists_of(command));
    put_literals(command);
    fputs(") options=(", stdout);
    for (const struct lb_cli_option *o = NULL; (o = lb_cli_option_next(o, command->takes));)
      put_described(o->name, o->help);
    fputs(") ;;\n", stdout);
  }
  fputs("esac\n"
        "case $words[CURRENT-1] in\n"
        "  -g|--guard) words_=(",
        stdout);
  put_guards();
  fputs(
      "); _describe guard words_; return ;;\n"
      "  -b|--systems|--topologies)\n"
      "    compset -P '*,'; lists=protocols words_=()\n"
      "    [[ $words[2] != (judge|adapter-check) ]] || lists=topologies ;;\n"
      "  -o|--out|--junit|--resume|--plugin|--auth|--against) _files; return ;;\n"
      "esac\n"
      "if [[ $PREFIX == -* ]]; then _describe option options; return; fi\n"
      "for list in ${=lists}; do words_+=(${(f)\"$($tool list $list 2>/dev/null | cut -d' ' -f1)\"}); done\n"
      "if [[ $words[2] == (explain|shrink) && -f $words[CURRENT-1]/trials.csv ]]; then\n"
      "  words_=(${(f)\"$(cut -d, -f1-3 $words[CURRENT-1]/trials.csv | tail -n +2 | sort -u | sed 's/,none$//; s/,/./g')\"})\n"
      "fi\n"
      "(($#words_)) && compadd -a words_\n"
      "_files\n",
      stdout);
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

static void put_fish_option(const char *command, const struct lb_cli_option *option) {
  printf("complete -c lockbench -n '__fish_seen_subcommand_from %s'", command);
  const char *const names[] = {option->name, option->alias};
  for (size_t i = 0; i < 2; i++)
    if (names[i]) printf(names[i][1] == '-' ? " -l %s" : " -s %s", names[i] + (names[i][1] == '-' ? 2 : 1));
  if (strcmp(option->name, "-g") == 0) fputs(" -x -a '", stdout), put_guards(), fputs("'", stdout);
  else if (strcmp(option->name, "-b") == 0)
    printf(" -x -a '(__lockbench_each %s)'", strcmp(option->alias, "--systems") == 0 ? "protocols" : "topologies");
  else if (option->value) fputs(" -r", stdout);
  fputs(" -d ", stdout);
  put_quoted(option->help);
  putchar('\n');
}

static void put_fish(void) {
  fputs("# fish completion for lockbench, printed by `lockbench completion fish`\n"
        "function __lockbench_list\n"
        "  set -l tool (string replace -r '[^/]*$' 'build/lockbench' -- (commandline -opc)[1])\n"
        "  test -x $tool; or set tool lockbench\n"
        "  $tool list $argv[1] 2>/dev/null | string replace -r ' .*' ''\nend\n"
        "function __lockbench_each\n" /* of a list with commas: what is there stays */
        "  set -l before (string match -r '.*,' -- (commandline -ct))\n"
        "  for word in (__lockbench_list $argv[1]); echo $before$word; end\nend\n"
        "function __lockbench_cells\n"
        "  set -l file (commandline -opc)[-1]/trials.csv\n"
        "  test -f $file; and cut -d, -f1-3 $file | tail -n +2 | sort -u | sed 's/,none$//; s/,/./g'\nend\n"
        "complete -c bench -w lockbench\n"
        "complete -c lockbench -n '__fish_seen_subcommand_from explain shrink' -a '(__lockbench_cells)'\n",
        stdout);
  for (size_t i = 0; lb_cli_commands[i]; i++) {
    const struct lb_cli_command *command = lb_cli_commands[i];
    printf("complete -c lockbench -n __fish_use_subcommand -f -a %s -d ", command->name);
    put_quoted(command->what);
    printf("\ncomplete -c lockbench -n '__fish_seen_subcommand_from %s' -a '", command->name);
    put_literals(command);
    for (const char *at = lists_of(command); *at; at += strcspn(at, " "), at += strspn(at, " "))
      printf(" (__lockbench_list %.*s)", (int)strcspn(at, " "), at);
    fputs("'\n", stdout);
    for (const struct lb_cli_option *o = NULL; (o = lb_cli_option_next(o, command->takes));)
      put_fish_option(command->name, o);
  }
}

/* ---- the manual page --------------------------------------------------------------------------------------------- */

/* Whatever scdoc could take for a mark is escaped. */
static void put_plain(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (strchr("\\_*#~`[]|<>+.:-", text[i])) putchar('\\');
    putchar(text[i]);
  }
}

/* A paragraph, indented; each line of the text is a line of it. Behind a break scdoc is still in the paragraph, and would
 * print a second tab. */
static void put_lines(const char *text) {
  putchar('\t');
  for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    size_t length = strcspn(at, "\n"), blanks = strspn(at, " ");
    put_plain(at + blanks, length - blanks);
    fputs(at[length] && at[length + 1] ? "++\n" : "\n", stdout);
  }
  putchar('\n');
}

static void put_manual_commands(void) {
  for (size_t i = 0; lb_cli_commands[i]; i++) {
    const struct lb_cli_command *command = lb_cli_commands[i];
    printf("*lockbench %s* [OPTION]... ", command->name);
    put_plain(command->words, strlen(command->words));
    putchar('\n');
    put_lines(command->what);
    if (command->more) put_lines(command->more);
  }
}

static void put_manual_option(const struct lb_cli_option *option) {
  putchar('*'), put_plain(option->name, strlen(option->name)), putchar('*');
  if (option->alias) fputs(", *", stdout), put_plain(option->alias, strlen(option->alias)), putchar('*');
  if (option->value) putchar(' '), put_plain(option->value, strlen(option->value));
  fputs("\n\t", stdout);
  put_plain(option->help, strlen(option->help));
  fputs("++\nof: ", stdout);
  const char *between = "";
  for (size_t i = 0; lb_cli_commands[i]; i++) {
    if (!(option->takes & lb_cli_commands[i]->takes)) continue;
    fputs(between, stdout), put_plain(lb_cli_commands[i]->name, strlen(lb_cli_commands[i]->name));
    between = ", ";
  }
  fputs(*between ? "\n\n" : "every command\n\n", stdout);
}

static void put_manual(void) {
  printf("lockbench(1) \"lockbench %s\" \"lockbench\"\n\n", LB_VERSION);
  fputs(
      "# NAME\n\nlockbench - which distributed lock can I trust, under which fault, at what cost?\n\n"
      "# SYNOPSIS\n\n*lockbench* COMMAND [OPTION]... [WORD]...++\n*lockbench* COMMAND --help++\n*lockbench* --version\n\n"
      "# DESCRIPTION\n\n"
      "lockbench runs the same scenario against every lock protocol, on real servers that it starts itself. "
      "It cuts links, kills, pauses and restarts servers and clients, and sets their clocks. "
      "It prints a table of verdicts, and keeps the history of every violation.\n\n"
      "# COMMANDS\n\n",
      stdout);
  put_manual_commands();
  fputs("# OPTIONS\n\n", stdout);
  for (const struct lb_cli_option *o = NULL; (o = lb_cli_option_next(o, ~0u));) put_manual_option(o);
  fputs("# EXIT STATUS\n\nOf *run* and *suite*; other commands say theirs above.\n\n", stdout);
  put_lines(lb_exit_codes);
  fputs(
      "# ENVIRONMENT\n\n"
      "*LOCKBENCH\\_RESULTS*\n\tfolder for new run folders (default: lockbench-results in the current folder)\n\n"
      "*LOCKBENCH\\_ROOT*\n\tfolder of scenarios, plots and peers (default: the one that was installed)\n\n"
      "*LOCKBENCH\\_PEERS*\n\tlibraries of others that are not packages (default: ~/.cache/lockbench/peers)\n\n"
      "*LOCKBENCH\\_PYTHON*\n\tthe Python that draws figures and pages (default: /usr/bin/python3)\n\n"
      "# EXAMPLES\n\n"
      "*lockbench run failover -g none -n 20*\n\ta failover that loses locks\n\n"
      "*lockbench explain* DIR *failover*\n\thow one was lost\n\n"
      "*lockbench judge 'python3 mine.py'*\n\tis my own lock safe?\n\n"
      "# SEE ALSO\n\nThe pages of the documentation, in the folder doc/lockbench beside this manual: docs/commands.md, "
      "docs/results.md, docs/adding-a-lock.md.\n",
      stdout);
}

static int completion_command(const struct lb_args *args) {
  static const struct {
    const char *word;
    void (*put)(void);
  } forms[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}, {"man", put_manual}};
  for (size_t i = 0; args->word_count == 1 && i < sizeof forms / sizeof *forms; i++)
    if (strcmp(args->words[0], forms[i].word) == 0) return forms[i].put(), LB_EXIT_OK;
  return lb_complain(LB_EXIT_USAGE, "completion: expected bash, zsh, fish or man, found %s%s%s",
                     args->word_count ? "'" : "", args->word_count ? args->words[0] : "nothing",
                     args->word_count ? "'" : "");
}

const struct lb_cli_command lb_command_completion = {
    "completion",
    completion_command,
    0,
    "bash|zsh|fish|man",
    "prints the completion of a shell, or the manual page as scdoc reads it",
    NULL};
