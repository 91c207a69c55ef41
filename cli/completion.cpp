// obol completion bash | zsh | fish: scripts made from the very commands that are parsed.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/app.h"
#include "obol/base/text.h"

namespace obol::cli {
namespace {

// One command with the words that can follow it.
struct Node {
  std::string path;  // "obol data get"
  std::string help;
  std::vector<std::string> words;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Node>& nodes) {
  Node node{path, app.get_description(), {}};
  for (const CLI::App* sub : app.get_subcommands(nullptr)) node.words.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) node.words.push_back("--" + name);
  nodes.push_back(std::move(node));
  for (const CLI::App* sub : app.get_subcommands(nullptr))
    collect(*sub, path + " " + sub->get_name(), nodes);
}

std::string bash_script(const std::vector<Node>& nodes) {
  std::string script = R"(# Completion for obol: source this file.
_obol() {
  local current="${COMP_WORDS[COMP_CWORD]}" path="" word
  for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
    case "$word" in -*) ;; *) path="${path:+$path }${word##*/}" ;; esac
  done
  local words=""
  while [ -n "$path" ]; do
    case "$path" in
)";
  for (const Node& node : nodes)
    script +=
        fmt::format("      \"{}\") words=\"{}\"; break ;;\n", node.path, join(node.words, " "));
  script += R"(    esac
    case "$path" in *" "*) path="${path% *}" ;; *) break ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ "${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _obol obol
)";
  return script;
}

std::string fish_script(const std::vector<Node>& nodes) {
  std::string script = "# Completion for obol: place it in ~/.config/fish/completions/obol.fish\n";
  for (const Node& node : nodes) {
    const std::vector<std::string> path = split(node.path, ' ');
    std::string condition;
    for (std::size_t i = 1; i < path.size(); ++i)
      condition += fmt::format("{}__fish_seen_subcommand_from {}", i == 1 ? "" : "; and ", path[i]);
    if (condition.empty()) condition = "__fish_use_subcommand";
    for (const std::string& word : node.words)
      script += word.starts_with("--")
                    ? fmt::format("complete -c obol -n '{}' -l {}\n", condition, word.substr(2))
                    : fmt::format("complete -c obol -n '{}' -f -a {}\n", condition, word);
  }
  return script;
}

}  // namespace

void add_completion(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand("completion", "a completion script for your shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&root, &action, shell] {
    action = [&root, shell] {
      std::vector<Node> nodes;
      collect(root, "obol", nodes);
      if (*shell == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
      std::cout << (*shell == "fish" ? fish_script(nodes) : bash_script(nodes));
      return ExitCode::kOk;
    };
  });
}

}  // namespace obol::cli
