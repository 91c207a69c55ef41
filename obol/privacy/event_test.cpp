#include "obol/privacy/event.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::privacy {
namespace {

TEST(Event, SaysWhatItIs) {
  EXPECT_EQ(
      describe(SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 0.8, .count = 2000}),
      "2,000 x SampledGaussian, sampling rate 0.01, noise multiplier 0.8");
  EXPECT_EQ(describe(LocalLaplace{.scale = 0.5, .count = 1}), "1 x LocalLaplace, scale 0.5");
  EXPECT_EQ(describe(LocalRandomizedResponse{.epsilon = 2, .classes = 10, .count = 1}),
            "1 x LocalRandomizedResponse, epsilon 2, 10 classes");
}

TEST(Event, KnowsWhichDataSetsItHides) {
  EXPECT_EQ(neighbours_of(SampledGaussian{0.1, 1, 1}), Neighbours::kAddRemove);
  EXPECT_EQ(neighbours_of(SampledLaplace{0.1, 1, 1}), Neighbours::kAddRemove);
  EXPECT_EQ(neighbours_of(FixedBatchGaussian{0.1, 1, 1}), Neighbours::kReplaceOne);
  EXPECT_EQ(neighbours_of(ShardGaussian{0.1, 1, 1}), Neighbours::kReplaceOne);
  EXPECT_EQ(neighbours_of(LocalGaussian{1, 1}), Neighbours::kPerson);
  EXPECT_EQ(neighbours_of(Gaussian{1, 1}), Neighbours::kAsStated);
}

TEST(Event, NeighboursHaveNamesThatLeadBack) {
  for (const auto neighbours : {Neighbours::kAddRemove, Neighbours::kReplaceOne,
                                Neighbours::kPerson, Neighbours::kAsStated})
    EXPECT_EQ(neighbours_from(name_of(neighbours)), neighbours);
  EXPECT_THROW(neighbours_from("friends"), InvalidArgument);
}

TEST(Event, StatedSensitivitiesGoWithAnyNeighboursAndOthersDoNotMix) {
  EXPECT_EQ(common_neighbours(Neighbours::kAsStated, Neighbours::kAddRemove),
            Neighbours::kAddRemove);
  EXPECT_EQ(common_neighbours(Neighbours::kReplaceOne, Neighbours::kAsStated),
            Neighbours::kReplaceOne);
  EXPECT_THROW(common_neighbours(Neighbours::kAddRemove, Neighbours::kReplaceOne),
               UnsupportedEvent);
}

TEST(Event, IsTheSameMechanismWhateverItsCount) {
  const Event event = SampledGaussian{0.01, 0.8, 10};
  EXPECT_TRUE(same_mechanism(event, with_count(event, 20)));
  EXPECT_FALSE(same_mechanism(event, SampledGaussian{0.01, 0.9, 10}));
  EXPECT_FALSE(same_mechanism(event, SampledGaussian{0.02, 0.8, 10}));
  EXPECT_FALSE(same_mechanism(Laplace{1, 1}, LocalLaplace{1, 1}));
  EXPECT_FALSE(same_mechanism(LocalRandomizedResponse{1, 2, 1}, LocalRandomizedResponse{1, 3, 1}));
  EXPECT_EQ(count_of(with_count(event, 20)), 20);
}

TEST(Event, IsRefusedWhenItCannotBeMeant) {
  EXPECT_THROW(check(SampledGaussian{1.5, 1, 1}), InvalidArgument);
  EXPECT_THROW(check(SampledGaussian{0, 1, 1}), InvalidArgument);
  EXPECT_THROW(check(SampledGaussian{NAN, 1, 1}), InvalidArgument);
  EXPECT_THROW(check(SampledLaplace{0.1, 0, 1}), InvalidArgument);
  EXPECT_THROW(check(ShardGaussian{0.1, INFINITY, 1}), InvalidArgument);
  EXPECT_THROW(check(Gaussian{1, -1}), InvalidArgument);
  EXPECT_NO_THROW(check(LocalGaussian{1, 0}));
}

}  // namespace
}  // namespace obol::privacy
