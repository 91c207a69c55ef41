#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/data/sampler.h"
#include "obol/federated/client.h"
#include "obol/federated/server.h"
#include "obol/federated/testing.h"
#include "obol/method/fit.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/model/generator_file.h"
#include "obol/privacy/ledger.h"

namespace obol::federated {
namespace {

using testing::bands;
using testing::kHost;
using testing::kShape;
using testing::RawClient;

constexpr std::int64_t kClients = 8;
const Images kImages{.shape = "8x8", .classes = 3};

class Federation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new TemporaryFolder;
    write_test_certificates(certificates_->path() / "good", {.clients = kClients});
    write_test_certificates(certificates_->path() / "other", {.clients = 1});
    write_test_certificates(certificates_->path() / "expired", {.clients = 1, .days = -1});
  }
  static void TearDownTestSuite() { delete certificates_; }
  Federation() { set_console({.level = LogLevel::kError}); }
  ~Federation() override { set_console({}); }

  static Identity identity(const std::string& who, const std::string& set = "good") {
    const Path folder = certificates_->path() / set;
    return {folder / "ca.pem", folder / (who + ".pem"), folder / (who + ".key")};
  }

  // Trains in a thread of its own.
  struct Running {
    std::string server;
    std::future<run::Outcome> outcome;
  };
  Running start(std::int64_t clients, std::int64_t steps, ServeOptions options = {}) {
    options.recipe = folder_.path() / "recipe.toml";
    write_file(options.recipe, testing::recipe_text(clients, steps));
    options.images = kImages;
    options.folder = folder_.path() / "run";
    options.listen = std::string(kHost) + ":0";
    options.identity = identity("server");
    terms_ = read_terms(propose(options.recipe, options.overrides, kImages));
    auto port = std::make_shared<std::promise<int>>();
    options.on_listening = [port](int number) { port->set_value(number); };
    Running running;
    running.outcome = std::async(std::launch::async, [options] { return serve(options); });
    running.server = fmt::format("{}:{}", kHost, port->get_future().get());
    return running;
  }

  std::future<Joined> join_as(std::int64_t number, const std::string& server,
                              const Private<data::Dataset>& data, double epsilon = 1e4,
                              std::optional<std::int64_t> answers = std::nullopt) {
    const std::string name = fmt::format("client-{}", number);
    JoinOptions options{
        .connection = {.server = server, .identity = identity(name), .patience = 10},
        .respondent = {.folder = folder_.path() / name,
                       .budget = {Epsilon{epsilon}, Delta{1e-5}},
                       .answers = answers,
                       .seed = kSeed + 1'000'003 * number}};
    return std::async(std::launch::async, [options, data] { return join(options, data); });
  }
  // Connected, and agreed, where the server lets it.
  std::unique_ptr<RawClient> raw(std::int64_t number, const std::string& server) const {
    auto client = std::make_unique<RawClient>(
        server, client_credentials(identity(fmt::format("client-{}", number))));
    client->hello(terms_.hash);
    return client;
  }

  [[nodiscard]] nlohmann::json record() const {
    return nlohmann::json::parse(read_text(folder_.path() / "run" / "federated.json", 1 << 20));
  }
  [[nodiscard]] std::int64_t count(std::size_t client, const char* what) const {
    return record()["clients"][client][what];
  }
  [[nodiscard]] std::int64_t paid(std::int64_t number) const {
    std::int64_t total = 0;
    const Path client = folder_.path() / fmt::format("client-{}", number);
    for (const auto& event : privacy::read_ledger(client / "ledger.jsonl").spent())
      total += privacy::count_of(event);
    return total;
  }
  [[nodiscard]] std::vector<float> zeros() const {
    return std::vector<float>(static_cast<std::size_t>(terms_.form.answer_numbers()), 0.0F);
  }

  static constexpr std::int64_t kSeed = 11;
  static TemporaryFolder* certificates_;
  TemporaryFolder folder_;
  Terms terms_;
};
TemporaryFolder* Federation::certificates_ = nullptr;

TEST_F(Federation, TrainsTheSameGeneratorAsWithAllShardsInOnePlace) {
  constexpr std::int64_t kSteps = 10;
  const Private<data::Dataset> data(bands(120));
  const std::string seed = fmt::format("method.seed={}", kSeed);
  auto recipe = recipe::Recipe::parse(testing::recipe_text(kClients, kSteps), "test.toml", {seed});
  const auto experiment = method::read_experiment(recipe);
  const Path together = folder_.path() / "together";
  static_cast<void>(method::gs_wgan::Entry::fit(experiment, data, {.folder = together}));

  Running running = start(kClients, kSteps, {.overrides = {seed}});
  SeededBits split(20201);  // as gs_wgan/method.cpp splits
  std::vector<std::future<Joined>> clients;
  for (const auto& shard : data::disjoint_shards(data, kClients, split))
    clients.push_back(
        join_as(static_cast<std::int64_t>(clients.size()) + 1, running.server, shard));
  EXPECT_EQ(running.outcome.get().steps, kSteps);
  for (auto& client : clients) EXPECT_EQ(client.get().ending, Ending::kFinished);

  const auto apart = model::load_generator(folder_.path() / "run" / "generator.safetensors");
  const auto expected = model::load_generator(together / "generator.safetensors");
  const auto own = apart->parameters();
  const auto wanted = expected->parameters();
  ASSERT_EQ(own.size(), wanted.size());
  for (std::size_t k = 0; k < own.size(); ++k) EXPECT_TRUE(torch::equal(own[k], wanted[k])) << k;
  for (std::int64_t k = 0; k < kClients; ++k) {
    EXPECT_EQ(count(static_cast<std::size_t>(k), "answers"), paid(k + 1));
    EXPECT_EQ(paid(k + 1), k < 2 ? 2 : 1);
  }
}

TEST_F(Federation, SpeaksToNobodyWithoutAValidCertificate) {
  Running running = start(1, 1);
  const auto refused = [&](const grpc::SslCredentialsOptions& options) {
    const auto status = RawClient::propose(running.server, grpc::SslCredentials(options));
    return status.error_code() == grpc::StatusCode::UNAVAILABLE;
  };
  const auto pem = [](const Path& path) { return read_text(path, 1 << 16); };
  const std::string ca = pem(identity("server").ca);
  EXPECT_TRUE(refused({.pem_root_certs = ca})) << "without any";
  for (const char* set : {"other", "expired"}) {
    const Identity bad = identity("client-1", set);
    EXPECT_TRUE(refused({.pem_root_certs = ca,
                         .pem_private_key = pem(bad.key),
                         .pem_cert_chain = pem(bad.certificate)}))
        << set;
  }
  const auto plain = RawClient::propose(running.server, grpc::InsecureChannelCredentials());
  EXPECT_FALSE(plain.ok()) << "without TLS";

  const auto joined = [&](const Identity& who) -> std::string {
    try {
      join({.connection = {.server = running.server, .identity = who, .patience = 0.5},
            .respondent = {.folder = folder_.path() / "x", .budget = {Epsilon{1}, Delta{1e-5}}}},
           Private<data::Dataset>(bands(3)));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(joined(identity("client-1", "expired")).find("expired"), std::string::npos);
  EXPECT_NE(joined(identity("client-1", "other")).find("must be there and accept this certificate"),
            std::string::npos);
  EXPECT_EQ(join_as(1, running.server, Private<data::Dataset>(bands(9))).get().answers, 1);
  EXPECT_EQ(running.outcome.get().steps, 1);
}

TEST_F(Federation, TellsThoseWhoDisagree) {
  Running running = start(1, 1);
  const auto credentials = client_credentials(identity("client-1"));
  const auto old = RawClient::propose(running.server, credentials, kProtocol + 1);
  EXPECT_EQ(old.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(old.error_message(),
            "the protocol must be 1 at both ends, but is 2 at the client: update the server");
  RawClient other(running.server, credentials);
  other.hello("another hash");
  const auto status = other.end();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("must be those of the server"), std::string::npos);

  auto first = raw(1, running.server);
  ASSERT_TRUE(first->read());
  const auto second = raw(1, running.server)->end();
  EXPECT_EQ(second.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(second.error_message(), "client-1 must be connected once, but is so already");
  const auto stranger = raw(2, running.server)->end();
  EXPECT_EQ(stranger.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  first->answer(zeros());
  EXPECT_TRUE(first->end().ok());
  EXPECT_EQ(running.outcome.get().steps, 1);
}

TEST_F(Federation, RejectsWhatIsNoAnswerAndGoesOn) {
  constexpr std::int64_t kSteps = 8;
  Running running = start(2, kSteps);
  {
    // Nobody is asked before both are there.
    auto client = raw(2, running.server);
    client->answer(77, zeros());
    EXPECT_EQ(client->end().error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "not asked for";
  }
  // It plans to answer for the other as well.
  auto honest = join_as(1, running.server, Private<data::Dataset>(bands(12)), 1e4, kSteps);
  const std::size_t size = zeros().size();
  std::vector<float> with_nan(size, 0.0F);
  with_nan[7] = NAN;
  const std::vector<std::vector<float>> bad = {
      with_nan, std::vector<float>(size, 1e6F), std::vector<float>(size - 1, 0.0F), {}};
  for (const std::vector<float>& gradient : bad) {
    auto client = raw(2, running.server);
    if (!client->read()) break;
    client->answer(gradient);
    EXPECT_EQ(client->end().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(running.outcome.get().steps, kSteps);
  EXPECT_EQ(honest.get().answers, kSteps);
  EXPECT_EQ(count(0, "answers"), kSteps);
  EXPECT_EQ(count(1, "answers"), 0);
  EXPECT_GE(count(1, "rejected"), 2);
}

TEST_F(Federation, SurvivesAMinorityThatLiesAsLoudAsItMay) {
  constexpr std::int64_t kSteps = 24;
  constexpr std::int64_t kLiars = 3;
  Running running = start(kClients, kSteps);
  const auto size = static_cast<double>(zeros().size());
  const std::vector<float> lie(zeros().size(),
                               static_cast<float>(0.999 * terms_.longest() / std::sqrt(size)));
  std::vector<std::future<void>> liars;
  for (std::int64_t k = 1; k <= kLiars; ++k)
    liars.push_back(std::async(std::launch::async, [&, k] {
      const auto client = raw(k, running.server);
      while (client->read()) client->answer(lie);
    }));
  std::vector<std::future<Joined>> honest;
  for (std::int64_t k = kLiars + 1; k <= kClients; ++k)
    honest.push_back(join_as(k, running.server, Private<data::Dataset>(bands(12))));
  EXPECT_EQ(running.outcome.get().steps, kSteps);
  for (auto& liar : liars) liar.get();
  for (auto& client : honest) EXPECT_EQ(client.get().answers, kSteps / kClients);
  EXPECT_EQ(count(0, "answers"), kSteps / kClients) << "within the bound a lie is an answer";
  const auto generator = model::load_generator(folder_.path() / "run" / "generator.safetensors");
  for (const auto& parameter : generator->parameters())
    EXPECT_TRUE(torch::isfinite(parameter).all().item<bool>());
}

TEST_F(Federation, GivesNobodyMoreThanItsShareOfMessages) {
  Running running = start(1, 1);
  auto client = raw(1, running.server);
  ASSERT_TRUE(client->read());
  grpc::Status status;
  for (int k = 0; k < 40 && status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED; ++k)
    status = raw(1, running.server)->end();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  std::vector<float> large(zeros().size() + (1 << 16), 0.0F);
  client->answer(large);
  EXPECT_EQ(client->end().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "too large";
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  auto again = raw(1, running.server);
  ASSERT_TRUE(again->read());
  again->answer(zeros());
  EXPECT_EQ(running.outcome.get().steps, 1);
}

TEST_F(Federation, GoesOnWithoutThoseWhoAreLate) {
  Running running = start(2, 4, {.deadline = 0.2});
  auto slow = raw(2, running.server);
  auto quick = raw(1, running.server);
  for (int k = 0; k < 2; ++k) {
    ASSERT_TRUE(quick->read());
    quick->answer(zeros());
  }
  // After its first turn, which it let pass.
  ASSERT_TRUE(slow->read());
  slow->answer(zeros());
  while (quick->read()) quick->answer(zeros());
  EXPECT_TRUE(quick->end().ok());
  EXPECT_EQ(running.outcome.get().steps, 4);
  slow->leave();
  EXPECT_GE(count(1, "timeouts"), 1);
  EXPECT_EQ(count(1, "late"), 1);
}

TEST_F(Federation, EndsWhenEveryBudgetHas) {
  Running running = start(2, 100);
  const Private<data::Dataset> data(bands(12));
  const auto epsilon = [&](std::int64_t answers) {
    return 1.01 * privacy::account({privacy::with_count(terms_.per_answer(), answers)}, Delta{1e-5})
                      .epsilon;
  };
  auto poor = join_as(1, running.server, data, epsilon(2));
  auto rich = join_as(2, running.server, data, epsilon(5));
  const run::Outcome outcome = running.outcome.get();
  EXPECT_EQ(outcome.ending, run::Ending::kBudget);
  EXPECT_EQ(outcome.steps, 7);
  const Joined first = poor.get();
  EXPECT_EQ(first.ending, Ending::kBudget);
  EXPECT_EQ(first.answers, 2);
  EXPECT_LE(first.epsilon, epsilon(2));
  EXPECT_EQ(rich.get().answers, 5);
}

TEST_F(Federation, WaitsForAClientThatWasGoneAndCountsNothingTooLittle) {
  Running running = start(1, 6);
  // Answers once and is killed after paying for a second answer, which never arrives.
  const Private<data::Dataset> data(bands(12));
  {
    Respondent respondent(terms_, data,
                          {.folder = folder_.path() / "client-1",
                           .budget = {Epsilon{1e4}, Delta{1e-5}},
                           .answers = 7,  // one more than its share
                           .seed = kSeed + 1'000'003});
    ASSERT_TRUE(respondent.warm_start());
    auto client = raw(1, running.server);
    ASSERT_TRUE(client->read());
    client->answer(read_gradient(respondent.answer(client->question()), terms_.form, 1e9));
    ASSERT_TRUE(client->read());
    static_cast<void>(respondent.answer(client->question()));
    client->leave();
  }
  EXPECT_EQ(paid(1), 2);
  const Joined joined = join_as(1, running.server, data).get();
  EXPECT_EQ(running.outcome.get().steps, 6);
  EXPECT_EQ(joined.answers, 7);
  EXPECT_EQ(count(0, "answers"), 6);
  EXPECT_EQ(paid(1), 7);
}

// A server that does what it likes, and keeps what it hears.
class Listener final : public wire::Federation::Service {
 public:
  explicit Listener(Terms terms) : terms_(std::move(terms)) {}
  grpc::Status Propose(grpc::ServerContext* /*context*/, const wire::TermsRequest* /*request*/,
                       wire::TermsReply* reply) override {
    reply->set_terms(terms_.text);
    return grpc::Status::OK;
  }
  grpc::Status Train(grpc::ServerContext* /*context*/,
                     grpc::ServerReaderWriter<wire::Question, wire::FromClient>* stream) override {
    wire::FromClient message;
    const auto size = static_cast<std::size_t>(terms_.form.question_numbers());
    for (std::uint64_t number = 1; number <= 4 && stream->Read(&message); ++number) {
      heard.push_back(message);
      wire::Question question = write_question(std::vector<float>(size, 0.1F),
                                               std::vector<std::int64_t>(2 * testing::kRows, 0));
      question.set_number(number);
      // The last asks for too much.
      if (number == 4) question.mutable_images()->append("more");
      stream->Write(question);
    }
    while (stream->Read(&message)) heard.push_back(message);
    return grpc::Status::OK;
  }
  std::vector<wire::FromClient> heard;

 private:
  Terms terms_;
};

TEST_F(Federation, LetsNothingOutOfAClientButHelloAndAnswers) {
  const Path recipe = folder_.path() / "recipe.toml";
  write_file(recipe, testing::recipe_text(1, 9));
  const Terms terms = read_terms(propose(recipe, {}, kImages));
  Listener listener(terms);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string(kHost) + ":0", server_credentials(identity("server")),
                           &port);
  builder.RegisterService(&listener);
  const auto server = builder.BuildAndStart();
  auto client = join_as(1, fmt::format("{}:{}", kHost, port), Private<data::Dataset>(bands(12)));
  EXPECT_THROW(client.get(), DataError);
  server->Shutdown();
  ASSERT_EQ(listener.heard.size(), 4U);
  EXPECT_TRUE(listener.heard[0].has_hello());
  EXPECT_EQ(listener.heard[0].hello().ByteSizeLong(), 2U + 2U + 64U);
  for (std::size_t k = 1; k < 4; ++k) {
    ASSERT_TRUE(listener.heard[k].has_answer());
    const wire::Answer& answer = listener.heard[k].answer();
    EXPECT_EQ(answer.number(), k);
    // What is clipped has length 1 at most; with the noise that was paid it has about 16.
    double square = 0;
    for (const float x : read_gradient(answer, terms.form, terms.longest()))
      square += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_NEAR(std::sqrt(square), 16, 4);
  }
  EXPECT_EQ(paid(1), 3);
}

}  // namespace
}  // namespace obol::federated
