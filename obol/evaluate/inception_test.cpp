#include "obol/evaluate/inception.h"

#include <string>

#include <gtest/gtest.h>
#include <torch/script.h>

#include "obol/base/error.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

Path save(const TemporaryFolder& folder, const std::string& body) {
  torch::jit::Module module("Network");
  module.define("def forward(self, x: Tensor):\n" + body);
  const Path path = folder.path() / "network.pt";
  module.save(path.string());
  return path;
}

std::string message_of(const Path& path) {
  try {
    const Inception inception(path, torch::kCPU);
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing";
}

// Keeps the corner, the other corner and the sizes of what it is given.
constexpr const char* kSeeing = R"(
  seen = torch.stack([x[:, 0, 0, 0], x[:, 2, 298, 298], x.mean([1, 2, 3])], 1)
  return torch.cat([seen, torch.zeros([x.size(0), 2045])], 1)
)";

TEST(Inception, IsGivenThreeLargeChannelsBetweenMinusOneAndOne) {
  const TemporaryFolder folder;
  const Inception inception(save(folder, kSeeing), torch::kCPU);
  Tensor images = torch::zeros({3, 1, 28, 28});
  images[1].fill_(1);
  images[2][0].slice(0, 14).fill_(1);  // the lower half
  const Tensor seen = inception(images);
  EXPECT_EQ(seen.sizes(), (std::vector<std::int64_t>{3, 2048}));
  EXPECT_TRUE(seen[0].slice(0, 0, 3).allclose(torch::full({3}, -1.0F)));
  EXPECT_TRUE(seen[1].slice(0, 0, 3).allclose(torch::full({3}, 1.0F)));
  EXPECT_TRUE(seen[2].slice(0, 0, 3).allclose(torch::tensor({-1.0F, 1.0F, 0.0F}), 0, 1e-3));
  EXPECT_EQ(inception(torch::zeros({2, 3, 32, 32})).size(1), 2048);
  EXPECT_THROW(inception(torch::zeros({2, 2, 32, 32})), InvalidArgument);
}

TEST(Inception, SumsTheMomentsOfManyImages) {
  torch::manual_seed(1);
  const TemporaryFolder folder;
  const Inception inception(save(folder, kSeeing), torch::kCPU);
  const Tensor images = torch::rand({120, 1, 6, 6});
  std::int64_t seen = 0;
  const Moments parts = inception.moments(images, [&](std::int64_t count) { seen += count; });
  const Moments whole = moments_of(inception(images));
  EXPECT_EQ(seen, 120);
  EXPECT_EQ(parts.count, 120);
  EXPECT_TRUE(parts.mean.allclose(whole.mean, 1e-5, 1e-7));
  EXPECT_TRUE(parts.covariance.allclose(whole.covariance, 1e-4, 1e-7));
}

TEST(Inception, NamesTheNetworkAndTheImages) {
  const TemporaryFolder folder;
  const Inception inception(save(folder, kSeeing), torch::kCPU);
  const Tensor images = torch::rand({4, 1, 6, 6});
  const std::string name = inception.name_for(images);
  EXPECT_EQ(name.size(), 16);
  EXPECT_EQ(name, inception.name_for(images.clone()));
  EXPECT_NE(name, inception.name_for(images + 0.1));
  const Inception other(save(folder, "  return torch.zeros([x.size(0), 2048])\n"), torch::kCPU);
  EXPECT_NE(name, other.name_for(images));
}

TEST(Inception, SaysInOneSentenceWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of(folder.path() / "absent.pt").find("absent.pt"), std::string::npos);
  const Path text = folder.path() / "text.pt";
  write_file(text, "not a network");
  EXPECT_NE(message_of(text).find("must be a TorchScript file"), std::string::npos);
  EXPECT_EQ(message_of(text).find('\n'), std::string::npos);
  const std::string narrow = message_of(save(folder, "  return torch.zeros([x.size(0), 1000])\n"));
  EXPECT_NE(narrow.find("must be 2048 numbers an image, but is [2, 1000]"), std::string::npos);
  EXPECT_NE(message_of(save(folder, "  return (x, x)\n")).find("a tensor"), std::string::npos);
  EXPECT_NE(message_of(save(folder, "  return x.view([7])\n")).find("[n, 3, 299, 299]"),
            std::string::npos);
}

}  // namespace
}  // namespace obol::evaluate
