#include "obol/federated/table.h"

#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "obol/base/console.h"
#include "obol/federated/testing.h"

namespace obol::federated {
namespace {

using testing::RawClient;

class Tables : public ::testing::Test {
 protected:
  Tables() { set_console({.level = LogLevel::kError}); }
  ~Tables() override { set_console({}); }

  std::vector<std::string> certify(std::int64_t clients) {
    return write_test_certificates(folder.path() / "certs", {.clients = clients});
  }
  void propose(const std::string& recipe, const std::vector<std::string>& overrides,
               const Images& images) {
    write_file(folder.path() / "recipe.toml", recipe);
    terms = read_terms(federated::propose(folder.path() / "recipe.toml", overrides, images));
  }
  [[nodiscard]] Identity identity(const std::string& who) const {
    const Path certs = folder.path() / "certs";
    return {certs / "ca.pem", certs / (who + ".pem"), certs / (who + ".key")};
  }
  [[nodiscard]] TableOptions options(const std::vector<std::string>& names) const {
    return {.listen = std::string(testing::kHost) + ":0",
            .identity = identity("server"),
            .terms = terms,
            .names = names};
  }
  static std::string address(const Table& table) {
    return fmt::format("{}:{}", testing::kHost, table.port());
  }
  [[nodiscard]] std::unique_ptr<RawClient> connect(const std::string& name,
                                                   const std::string& server) const {
    auto client = std::make_unique<RawClient>(server, client_credentials(identity(name)));
    client->hello(terms.hash);
    return client;
  }
  [[nodiscard]] wire::Question blank() const {
    const Form& form = terms.form;
    return write_question(
        std::vector<float>(static_cast<std::size_t>(form.question_numbers())),
        std::vector<std::int64_t>(static_cast<std::size_t>(form.steps * form.rows), 1));
  }
  [[nodiscard]] std::vector<float> zeros() const {
    return std::vector<float>(static_cast<std::size_t>(terms.form.answer_numbers()));
  }

  TemporaryFolder folder;
  Terms terms;
};

TEST_F(Tables, AskNobodyWhoIsLeaving) {
  constexpr std::int64_t kClients = 4;
  const auto names = certify(kClients);
  propose(testing::recipe_text(kClients, 1), {}, {.shape = "8x8", .classes = 3});
  Table table(options(names));
  const std::string server = address(table);
  std::atomic<int> at_work = kClients;
  std::vector<std::future<void>> clients;
  for (const std::string& name : names) {
    clients.push_back(std::async(std::launch::async, [&] {
      constexpr int kTimes = 8;  // more would be too often
      for (int time = 0; time < kTimes; ++time) {
        const auto client = connect(name, server);
        for (int k = 0; k < 3 && client->read(); ++k) client->answer(zeros());
        if (time % 2 == 0) client->leave();  // else it is just gone
      }
      --at_work;
    }));
  }
  const wire::Question question = blank();
  while (at_work > 0)
    for (const std::string& name : names) table.ask(name, question, 10);
  for (auto& client : clients) client.get();
  for (const std::string& name : names) EXPECT_GT(table.counts(name).answers, 0);
}

TEST_F(Tables, TakeThisLongForOneQuestionAndItsAnswer) {
  const auto names = certify(1);
  propose(testing::recipe_text(1, 1), {"privacy.generated_batch=32", "method.critic_steps=5"},
          {.shape = "28x28", .classes = 10});
  auto table = std::make_unique<Table>(options({}));
  const auto client = connect(names.front(), address(*table));
  std::thread echo([&] {
    while (client->read()) client->answer(zeros());
  });
  ASSERT_EQ(table->gather(), names);
  const wire::Question question = blank();
  constexpr int kTimes = 50;
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < kTimes; ++k)
    EXPECT_EQ(table->ask(names.front(), question, 10).kind, Reply::kAnswered);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  std::cout << fmt::format("{:.2f} ms for 5 x 32 pictures of 28 x 28 and the answer, over TLS\n",
                           taken.count() / kTimes);
  table->finish();
  table.reset();
  echo.join();
}

}  // namespace
}  // namespace obol::federated
