#include "cli/numbers.h"

#include <cmath>

#include "obol/base/error.h"
#include "obol/base/text.h"

namespace obol::cli {

namespace {

double number_from(const std::string& name, const std::string& text) {
  const std::optional<double> number = parse_number(text);
  if (!number) throw InvalidArgument(violation(name, "a number, as 0.01 or 1/1200", text));
  return *number;
}

std::int64_t whole_from(const std::string& name, const std::string& text) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const std::optional<double> number = parse_number(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) > kExact)
    throw InvalidArgument(violation(name, "a whole number", text));
  return static_cast<std::int64_t>(*number);
}

template <class Target, class From>
CLI::Option* add(CLI::App& app, const std::string& name, Target& value, const std::string& help,
                 From from) {
  return app.add_option_function<std::string>(
      name, [&value, name, from](const std::string& text) { value = from(name, text); }, help);
}

}  // namespace

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                        const std::string& help) {
  return add(app, name, value, help, number_from);
}

CLI::Option* add_number(CLI::App& app, const std::string& name, double& value,
                        const std::string& help) {
  return add(app, name, value, help, number_from);
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                       const std::string& help) {
  return add(app, name, value, help, whole_from);
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
                       const std::string& help) {
  return add(app, name, value, help, whole_from);
}

void add_device_options(CLI::App& app, std::string& device, std::int64_t& threads) {
  app.add_option("--device", device, "cpu (default) or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  add_whole(app, "--threads", threads, "of the processor (all)");
}

template <class T>
T needed(const std::optional<T>& value, const std::string& name) {
  if (!value) throw InvalidArgument(violation(name, "given", "missing"));
  return *value;
}

template double needed(const std::optional<double>&, const std::string&);
template std::int64_t needed(const std::optional<std::int64_t>&, const std::string&);

}  // namespace obol::cli
