// Options that take numbers as people write them: 0.01, 1e-5, 1/1200, 8e6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace obol::cli {

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                        const std::string& help);
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::optional<std::int64_t>& value,
                       const std::string& help);

// The same, where there is a default.
CLI::Option* add_number(CLI::App& app, const std::string& name, double& value,
                        const std::string& help);
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::int64_t& value,
                       const std::string& help);

// --device and --threads, of commands that compute with tensors.
void add_device_options(CLI::App& app, std::string& device, std::int64_t& threads);

// The value, or InvalidArgument: "--delta must be given, but is missing".
template <class T>
T needed(const std::optional<T>& value, const std::string& name);

}  // namespace obol::cli
