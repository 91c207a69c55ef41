#include "obol/base/process.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace obol {
namespace {

constexpr int kNotFound = 127;

// Starts the program with its output to `output`, or thrown away where that is negative. Its
// number; 0 where it could not be started.
pid_t start(const std::vector<std::string>& arguments, const Path& folder, int output) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output < 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  else
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : 0;
}

int status_of(pid_t child) {
  if (child == 0) return kNotFound;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return kNotFound;
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

// Until the other end is closed.
void read_lines(int descriptor, const std::function<void(std::string_view line)>& read_line) {
  std::string text;
  std::array<char, 4096> chunk{};
  while (true) {
    const ssize_t count = read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      read_line(std::string_view(text).substr(0, end));
      text.erase(0, end + 1);
    }
  }
  if (!text.empty()) read_line(text);
}

}  // namespace

int run_quietly(const std::vector<std::string>& arguments, const Path& folder) {
  return status_of(start(arguments, folder, -1));
}

int run_reading(const std::vector<std::string>& arguments, const Path& folder,
                const std::function<void(std::string_view line)>& read) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return kNotFound;
  const pid_t child = start(arguments, folder, ends[1]);
  close(ends[1]);
  read_lines(ends[0], read);
  close(ends[0]);
  return status_of(child);
}

}  // namespace obol
