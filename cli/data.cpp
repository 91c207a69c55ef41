// obol data list | get | info
#include "cli/data.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "obol/base/text.h"
#include "obol/data/catalogue.h"

namespace obol::cli {
namespace {

using nlohmann::json;

ExitCode list_data() {
  for (const data::KnownDataset& known : data::catalogue()) {
    std::cout << fmt::format("{:<14} {}\n", known.name, known.summary);
    if (data::is_present(known))
      std::cout << fmt::format("{:<14}   in {}\n", "", data::folder_of(known).string());
    else if (!known.files.empty())
      std::cout << fmt::format("{:<14}   not here yet: obol data get {}\n", "", known.name);
    else
      std::cout << fmt::format("{:<14}   not here: {} ({})\n", "", known.by_hand,
                               data::folder_of(known).string());
  }
  return ExitCode::kOk;
}

ExitCode get(const std::string& name) {
  std::cout << data::fetch(name).string() << '\n';
  return ExitCode::kOk;
}

json to_json(const std::string& path, const data::Description& d) {
  json classes = json::array();
  for (std::size_t i = 0; i < d.class_names.size(); ++i)
    classes.push_back({{"name", d.class_names[i]}, {"count", d.class_counts[i]}});
  return {{"path", path},           {"format", d.format},
          {"count", d.count},       {"height", d.shape.height},
          {"width", d.shape.width}, {"channels", d.shape.channels},
          {"classes", classes}};
}

void print(const std::string& path, const data::Description& d) {
  std::cout << fmt::format(
      "{}: {} images of {}, {}, {}\n", path, d.count, to_string(d.shape),
      d.class_names.empty() ? "unlabelled" : fmt::format("{} classes", d.class_names.size()),
      d.format);
  for (std::size_t i = 0; i < d.class_names.size(); ++i)
    std::cout << fmt::format("  {:<20} {:>8}\n", printable(d.class_names[i]), d.class_counts[i]);
}

json to_json(const data::Proposal& proposal) {
  const data::Declaration& d = proposal.declaration;
  json found = {{"looked_up", proposal.looked_up}};
  if (d.range) found["range"] = {d.range->low, d.range->high};
  if (d.classes) found["class_names"] = d.names();
  if (d.channels) found["channels"] = *d.channels;
  if (d.size) found["size"] = {d.size->width, d.size->height};
  return found;
}

void print(const std::string& path, const data::Proposal& proposal) {
  if (proposal.looked_up.empty()) {
    std::cout << fmt::format("  declared: {}\n", in_words(proposal.declaration));
    return;
  }
  std::cout << fmt::format(
      "  not declared: {}; by looking at the data, this is proposed for {}\n"
      "  (check it, it is treated as public; 'obol data declare {}' writes it):\n",
      join(proposal.looked_up, ", "), data::declaration_path(path).string(), path);
  for (const std::string& line : split(to_toml(proposal.declaration), '\n'))
    if (!line.empty()) std::cout << fmt::format("    {}\n", line);
}

struct InfoArguments {
  app::DataRequest data;
  bool json = false;
  bool verify = false;
  bool per_user = false;
};

ExitCode info_of_users(const InfoArguments& arguments) {
  json all = json::array();
  for (const app::DataInfo& user : app::describe_users(arguments.data)) {
    if (arguments.json)
      all.push_back(to_json(user.path, user.description));
    else
      print(user.path, user.description);
  }
  if (arguments.json) std::cout << all.dump(2) << '\n';
  return ExitCode::kOk;
}

ExitCode info(const InfoArguments& arguments) {
  if (arguments.per_user) return info_of_users(arguments);
  const app::DataInfo found = app::describe_data(
      arguments.data, arguments.verify ? app::DataCheck::kEveryRecord : app::DataCheck::kHeaders);
  if (arguments.json) {
    json value = to_json(found.path, found.description);
    value["declaration"] = to_json(found.proposal);
    std::cout << value.dump(2) << '\n';
    return ExitCode::kOk;
  }
  print(found.path, found.description);
  print(found.path, found.proposal);
  if (found.not_finite > 0)
    std::cout << fmt::format("  {} records have a number that is not finite, and count as black\n",
                             found.not_finite);
  else if (arguments.verify)
    std::cout << "  every record was read and is sound\n";
  return ExitCode::kOk;
}

}  // namespace

void add_data(CLI::App& root, Action& action) {
  CLI::App* data = root.add_subcommand("data", "get, look at and convert data sets");
  data->require_subcommand(1);
  data->add_subcommand("list", "the data sets known by name")->callback([&action] {
    action = list_data;
  });

  CLI::App* get_command = data->add_subcommand("get", "bring a known data set here");
  auto name = std::make_shared<std::string>();
  get_command->add_option("name", *name, "a name from 'obol data list'")->required();
  get_command->callback([&action, name] { action = [name] { return get(*name); }; });

  CLI::App* info_command = data->add_subcommand("info", "what a data set holds, from its headers");
  auto info_arguments = std::make_shared<InfoArguments>();
  add_data_options(*info_command, info_arguments->data);
  info_command->add_flag("--verify", info_arguments->verify, "read and check every record");
  info_command->add_flag("--per-user", info_arguments->per_user,
                         "every file or folder below the path is one user's");
  info_command->add_flag("--json", info_arguments->json, "for programs");
  info_command->callback(
      [&action, info_arguments] { action = [info_arguments] { return info(*info_arguments); }; });

  add_data_files(*data, action);
}

}  // namespace obol::cli
