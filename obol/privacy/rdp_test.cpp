#include "obol/privacy/rdp.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "obol/privacy/pld/pair.h"

namespace obol::privacy {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void expect_near(double actual, double expected, double tolerance) {
  EXPECT_LE(std::abs(actual - expected), tolerance * std::abs(expected))
      << actual << " against " << expected;
}

SampledGaussian sampled_rdp(double rate, double sigma, std::int64_t count = 1) {
  return {.sampling_rate = rate, .noise_multiplier = sigma, .count = count};
}

// The binomial sum of Mironov, Talwar and Zhang at whole orders, less one, by positive terms only.
double binomial_sum_rdp(double q, double sigma, int order) {
  double sum = 0;
  double log_choose = 0;
  for (int k = 1; k <= order; ++k) {
    log_choose += std::log(static_cast<double>(order - k + 1) / k);
    if (k < 2) continue;
    sum += std::exp(log_choose + k * std::log(q) + (order - k) * std::log1p(-q)) *
           std::expm1(k * (k - 1) / (2 * sigma * sigma));
  }
  return std::log1p(sum) / (order - 1);
}

struct Known {
  double rate;
  double sigma;
  double order;
  double rdp;
};

// Agreed between independent computations in extended precision.
const std::vector<Known> kSampledGaussian = {
    {1.0 / 1200, 1.5, 1.25, 2.427915161674848e-07},
    {1.0 / 1200, 1.5, 2.0, 3.8862735337797806e-07},
    {1.0 / 1200, 1.5, 5.5, 1.0707980660375496e-06},
    {1.0 / 1200, 1.5, 16.0, 3.133361841088535e-06},
    {1.0 / 1200, 1.5, 64.0, 7.019604485133151},
    {1.0 / 1200, 1.9, 1.25, 1.3850128414758888e-07},
    {1.0 / 1200, 1.9, 2.0, 2.2165090160344495e-07},
    {1.0 / 1200, 1.9, 5.5, 6.101679924859627e-07},
    {1.0 / 1200, 1.9, 16.0, 1.780548148096576e-06},
    {1.0 / 1200, 1.9, 64.0, 1.6616803036784815},
    {1.0 / 1200, 1.1, 1.25, 5.57168685912353e-07},
    {1.0 / 1200, 1.1, 2.0, 8.924880696451187e-07},
    {1.0 / 1200, 1.1, 5.5, 2.467573498936707e-06},
    {1.0 / 1200, 1.1, 16.0, 7.345127110666801e-06},
    {1.0 / 1200, 1.1, 64.0, 19.243663253804268},
    {50.0 / 162770, 1.9, 1.25, 1.8822097550667934e-08},
    {50.0 / 162770, 1.9, 2.0, 3.011780503512835e-08},
    {50.0 / 162770, 1.9, 5.5, 8.28554132285746e-08},
    {50.0 / 162770, 1.9, 16.0, 2.413090062390441e-07},
    {50.0 / 162770, 1.9, 64.0, 0.6479006326446358},
    {0.01, 0.8, 1.25, 0.0002241862116460566},
    {0.01, 0.8, 2.0, 0.00037700224391936006},
    {0.01, 0.8, 5.5, 0.0022625776335919836},
    {0.01, 0.8, 16.0, 7.58781847527597},
    {0.01, 0.8, 64.0, 45.32173187455178},
    {0.1, 2.0, 1.25, 0.0017376548494981814},
    {0.1, 2.0, 2.0, 0.0028362282662636224},
    {0.1, 2.0, 5.5, 0.008647229350964068},
    {0.1, 2.0, 16.0, 0.04529183908362196},
    {0.1, 2.0, 64.0, 5.660867258415199},
    {1, 4, 1.25, 0.0390625},
    {1, 4, 2.0, 0.0625},
    {1, 4, 5.5, 0.171875},
    {1, 4, 16.0, 0.5},
    {1, 4, 64.0, 2.0},
    {0.001, 0.3, 1.25, 0.0012748230628671065},
    {0.001, 0.3, 2.0, 0.06476614687694761},
    {0.001, 0.3, 5.5, 22.11274354791072},
    {0.001, 0.3, 16.0, 81.52061659130794},
    {0.001, 0.3, 64.0, 348.53815336738325},
    {0.5, 0.6, 1.25, 0.633513663318811},
    {0.5, 0.6, 2.0, 1.5625161370221383},
    {0.5, 0.6, 5.5, 6.791713556904422},
    {0.5, 0.6, 16.0, 21.48286522962495},
    {0.5, 0.6, 64.0, 88.18473937212958},
};

TEST(SampledGaussianRdp, AgreesWithIndependentComputations) {
  for (const Known& known : kSampledGaussian)
    expect_near(rdp(sampled_rdp(known.rate, known.sigma), known.order), known.rdp, 1e-12);
}

TEST(SampledGaussianRdp, IsTheBinomialSumAtWholeOrders) {
  for (const double q : {1e-6, 1e-3, 0.02, 0.3, 0.7, 0.999})
    for (const double sigma : {0.3, 0.7, 2.0, 20.0, 1000.0})
      for (const int order : {2, 3, 7, 20}) {
        const double expected = binomial_sum_rdp(q, sigma, order);
        if (!std::isfinite(expected)) continue;
        expect_near(rdp(sampled_rdp(q, sigma), order), expected, 1e-10);
      }
}

TEST(SampledGaussianRdp, IsTheGaussianWithoutSampling) {
  for (const double sigma : {0.05, 1.0, 1000.0})
    for (const double order : {1.01, 2.5, 64.0}) {
      const double expected = order / (2 * sigma * sigma);
      EXPECT_EQ(rdp(sampled_rdp(1, sigma), order), expected);
      expect_near(rdp(Gaussian{.noise_multiplier = sigma, .count = 1}, order), expected, 1e-15);
    }
}

TEST(SampledGaussianRdp, IsNearTheGaussianWhereAlmostAllTakePart) {
  for (const double order : {1.25, 3.0, 8.5})
    expect_near(rdp(sampled_rdp(1 - 1e-9, 1.3), order), order / (2 * 1.3 * 1.3), 1e-7);
}

TEST(SampledGaussianRdp, NeverFallsInTheOrderAndNeverExceedsNoSampling) {
  for (const double q : {1e-6, 0.01, 0.9}) {
    for (const double sigma : {0.05, 0.6, 3.0, 1000.0}) {
      double before = 0;
      for (const double order : {1.001, 1.05, 1.5, 2.0, 2.3, 5.0, 17.5, 64.0, 300.0}) {
        const double value = rdp(sampled_rdp(q, sigma), order);
        EXPECT_TRUE(std::isfinite(value)) << q << ' ' << sigma << ' ' << order;
        EXPECT_GE(value, before * (1 - 1e-12)) << q << ' ' << sigma << ' ' << order;
        EXPECT_LE(value, order / (2 * sigma * sigma));
        before = value;
      }
    }
  }
}

TEST(SampledGaussianRdp, KeepsItsPrecisionHoweverSmallItIs) {
  // To second order in q it is q^2 order (e^{1/sigma^2} - 1) / 2.
  for (const double order : {1.05, 1.5, 2.0, 4.25})
    expect_near(rdp(sampled_rdp(1e-6, 1000), order), 1e-12 * order * std::expm1(1e-6) / 2, 1e-5);
}

// The definition, integrated: log E_Q[(P/Q)^order] / (order - 1) for densities one apart.
double integrated_laplace_rdp(double b, double order) {
  const double step = b * 1e-4;
  double sum = 0;
  for (double x = -40 * b; x < 40 * b + 1; x += step) {
    const double middle = x + step / 2;
    sum += std::exp(order * -std::abs(middle - 1) / b - (1 - order) * std::abs(middle) / b);
  }
  return std::log(sum * step / (2 * b)) / (order - 1);
}

TEST(LaplaceRdp, IsTheDivergenceOfTwoShiftedLaplaces) {
  for (const double b : {0.5, 2.0, 10.0})
    for (const double order : {1.3, 2.0, 6.5})
      expect_near(rdp(Laplace{.scale = b, .count = 1}, order), integrated_laplace_rdp(b, order),
                  1e-6);
}

TEST(RandomizedResponseRdp, IsTheSumOverTheAnswers) {
  for (const double epsilon : {0.1, 1.0, 30.0}) {
    for (const std::int64_t classes : {2, 3, 10}) {
      for (const double order : {1.5, 2.0, 7.0}) {
        const double total = std::exp(epsilon) + static_cast<double>(classes) - 1;
        const double likely = std::exp(epsilon) / total;
        const double unlikely = 1 / total;
        const double sum = std::pow(likely, order) * std::pow(unlikely, 1 - order) +
                           std::pow(unlikely, order) * std::pow(likely, 1 - order) +
                           static_cast<double>(classes - 2) * unlikely;
        expect_near(rdp(LocalRandomizedResponse{epsilon, classes, 1}, order),
                    std::log(sum) / (order - 1), 1e-10);
      }
    }
  }
}

TEST(LaplaceRdp, TendsToItsPureGuarantee) {
  expect_near(rdp(Laplace{.scale = 0.5, .count = 1}, 1e6), 2.0, 1e-5);
}

TEST(FixedBatchGaussianRdp, AgreesWithIndependentComputations) {
  const std::vector<Known> values = {
      {1e-3, 1.07, 2, 4.790254366685e-06}, {1e-3, 1.07, 8, 1.938346869799e-05},
      {1e-3, 1.07, 64, 20.94363945277},    {1e-3, 2, 3, 1.706266588794e-06},
      {1e-3, 5, 64, 6.739657991328e-06},   {0.01, 1.07, 32, 9.243655176065},
      {0.01, 2, 64, 3.332748891708},       {0.01, 5, 32, 0.000646998866078}};
  for (const Known& v : values) {
    const FixedBatchGaussian event{
        .sampling_rate = v.rate, .noise_multiplier = v.sigma, .count = 1};
    expect_near(rdp(event, v.order), v.rdp, 1e-9);
  }
}

TEST(FixedBatchGaussianRdp, HoldsWhereTheNoiseIsNextToNothing) {
  // q^2 2 e^r is all that counts, r = 1 / sigma^2 = 2500.
  const FixedBatchGaussian event{.sampling_rate = 1e-3, .noise_multiplier = 0.02, .count = 1};
  expect_near(rdp(event, 2), 2500 + std::log(2e-6), 1e-12);
}

TEST(FixedBatchGaussianRdp, TakesTheNextWholeOrderAndIsNeverWorseThanNoSampling) {
  const FixedBatchGaussian event{.sampling_rate = 0.01, .noise_multiplier = 2, .count = 1};
  EXPECT_EQ(rdp(event, 7.2), rdp(event, 8));
  const FixedBatchGaussian everyone{.sampling_rate = 1, .noise_multiplier = 2, .count = 1};
  EXPECT_EQ(rdp(everyone, 8), 1.0);
}

struct Composed {
  double rate;
  double sigma;
  std::int64_t count;
  double classic;
  double classic_order;
  double tight;
};

TEST(RdpAccountant, FindsTheBestOrderWhereverItIs) {
  // The last two have it close to 1, where fixed lists of orders have nothing.
  const std::vector<Composed> cases = {
      {1.0 / 1200, 1.5, 160000, 1.2340264346605316, 20.039292170108624, 1.0142454719150034},
      {1.0 / 1200, 1.5, 8000000, 10.02096748430208, 3.7173367971920275, 9.210306048316596},
      {1.0 / 1200, 1.9, 14000000, 10.007400894955756, 3.721832970931337, 9.197525151249422},
      {1.0 / 1200, 1.5 / std::sqrt(50.0), 160000, 891.4927226254242, 1.0568761718681396,
       887.5969565952429},
      {1.0 / 1200, 1.9 / std::sqrt(50.0), 280000, 488.284441921521, 1.09802598896387,
       484.91283077299715}};
  for (const Composed& one : cases) {
    RdpAccountant accountant;
    accountant.compose(sampled_rdp(one.rate, one.sigma, one.count));
    const RdpEpsilon classic = accountant.epsilon(Delta{1e-5}, Conversion::kClassic);
    expect_near(classic.epsilon, one.classic, 1e-9);
    expect_near(classic.order - 1, one.classic_order - 1, 1e-3);
    expect_near(accountant.epsilon(Delta{1e-5}, Conversion::kTight).epsilon, one.tight, 1e-9);
  }
}

TEST(RdpAccountant, FindsTheOptimumOfTheGaussianInClosedForm) {
  // rdp = order c with c = T / (2 sigma^2): the classic bound is least at 1 + sqrt(log(1/delta)/c).
  for (const double sigma : {0.05, 1.0, 40.0, 1000.0}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{100000000}}) {
      RdpAccountant accountant;
      accountant.compose(Gaussian{.noise_multiplier = sigma, .count = count});
      const double c = static_cast<double>(count) / (2 * sigma * sigma);
      const double log_inverse = std::log(1e12);
      expect_near(accountant.epsilon(Delta{1e-12}, Conversion::kClassic).epsilon,
                  c + 2 * std::sqrt(c * log_inverse), 1e-9);
    }
  }
}

TEST(RdpAccountant, GivesThePublishedNumberOfGsWgan) {
  RdpAccountant accountant;
  accountant.compose(
      FixedBatchGaussian{.sampling_rate = 1e-3, .noise_multiplier = 1.07, .count = 640000});
  expect_near(accountant.epsilon(Delta{1e-5}, Conversion::kClassic).epsilon, 9.992623570832228,
              1e-9);
}

TEST(RdpAccountant, GivesTheNumberInItsHeader) {
  RdpAccountant accountant;
  accountant.compose(SampledGaussian{0.01, 0.8, 2000});
  EXPECT_NEAR(accountant.epsilon(Delta{1e-5}).epsilon, 4.86, 0.005);
}

TEST(RdpAccountant, AddsTheCurvesOfDifferentEvents) {
  const SampledGaussian first = sampled_rdp(0.01, 0.8, 2000);
  const Gaussian second{.noise_multiplier = 50, .count = 1};
  const Laplace third{.scale = 20, .count = 3};
  RdpAccountant accountant;
  for (const Event& event : {Event(first), Event(second), Event(third)}) accountant.compose(event);
  expect_near(accountant.rdp(5.5), 2000 * rdp(first, 5.5) + rdp(second, 5.5) + 3 * rdp(third, 5.5),
              1e-14);
}

TEST(RdpAccountant, SpendsNothingOnNothing) {
  const RdpAccountant nothing;
  EXPECT_EQ(nothing.rdp(2), 0);
  EXPECT_LT(nothing.epsilon(Delta{1e-5}).epsilon, 1e-3);
  RdpAccountant never;
  never.compose(sampled_rdp(0.5, 1, 0));
  EXPECT_EQ(never.rdp(2), 0);
}

TEST(RdpAccountant, TightConversionIsNeverWorse) {
  for (const double order : {1.01, 2.0, 50.0})
    for (const double delta : {1e-12, 1e-5, 0.1})
      EXPECT_LE(epsilon_of(0.3, order, Delta{delta}, Conversion::kTight),
                epsilon_of(0.3, order, Delta{delta}, Conversion::kClassic));
}

TEST(RdpAccountant, RefusesWhatCannotBeMeant) {
  RdpAccountant accountant;
  for (const double bad : {0.0, -1.0, kNan, kInfinity}) {
    EXPECT_THROW(accountant.compose(Gaussian{bad, 1}), InvalidArgument);
    EXPECT_THROW(accountant.compose(Laplace{bad, 1}), InvalidArgument);
    EXPECT_THROW(accountant.compose(sampled_rdp(0.1, bad)), InvalidArgument);
  }
  for (const double bad : {0.0, -0.1, 1.1, kNan})
    EXPECT_THROW(accountant.compose(sampled_rdp(bad, 1)), InvalidArgument);
  EXPECT_THROW(accountant.compose(sampled_rdp(0.1, 1, -1)), InvalidArgument);
  for (const double bad : {1.0, 0.5, kNan, kInfinity})
    EXPECT_THROW((void)accountant.rdp(bad), InvalidArgument);
  EXPECT_THROW((void)accountant.epsilon(Delta{0}), InvalidArgument);
}

TEST(RdpAccountant, RefusesMixedNeighbours) {
  RdpAccountant accountant;
  accountant.compose(sampled_rdp(0.1, 1));
  accountant.compose(Gaussian{.noise_multiplier = 1, .count = 1});
  EXPECT_THROW(accountant.compose(
                   FixedBatchGaussian{.sampling_rate = 0.1, .noise_multiplier = 1, .count = 1}),
               UnsupportedEvent);
}

// The conversion in long double, at the order that was chosen.
long double exact_epsilon(long double rdp, double order, double delta) {
  const long double a = order;
  return rdp - std::log(static_cast<long double>(delta)) / (a - 1) + std::log1p(-1 / a) -
         std::log(a) / (a - 1);
}

TEST(RdpAccountant, IsRoundedUp) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "no longer than a double";
  for (const double sigma : {0.31, 0.77, 1.3, 9.7, 33.0, 1234.5}) {
    for (const double delta : {1e-12, 1e-7, 1.3e-5, 0.01}) {
      for (const std::int64_t count : {1, 7, 1001}) {
        RdpAccountant accountant;
        accountant.compose(Gaussian{.noise_multiplier = sigma, .count = count});
        const auto [epsilon, order] = accountant.epsilon(Delta{delta});
        const long double s = sigma;
        const long double exact =
            exact_epsilon(static_cast<long double>(count) * order / (2 * s * s), order, delta);
        EXPECT_GE(epsilon, exact) << sigma << ' ' << delta << ' ' << count;
        EXPECT_LE(epsilon, std::max(0.0L, exact) + 1e-11L * (1 + exact)) << "and hardly more";
      }
    }
  }
}

TEST(Rdp, OfSmallLossesIsRoundedUp) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "no longer than a double";
  for (const double order : {1.5, 2.0, 7.0, 41.0}) {
    for (const double e : {1e-6, 1e-4, 0.003, 0.1, 2.0}) {
      const long double a = order;
      const long double x = e;
      // Of answers, in terms that do not cancel: sums of expm1.
      const long double sum = std::expm1(a * x) + std::expm1((1 - a) * x);
      const long double answers = (std::log1p(sum / 10) - std::log1p(std::expm1(x) / 10)) / (a - 1);
      EXPECT_GE(rdp(LocalRandomizedResponse{.epsilon = e, .classes = 10, .count = 1}, order),
                answers)
          << order << ' ' << e;
      const long double odds = 2 * a - 1;
      const long double laplace = (std::log1p((a / odds) * std::expm1((a - 1) * x) +
                                              ((a - 1) / odds) * std::expm1(-a * x))) /
                                  (a - 1);
      EXPECT_GE(rdp(Laplace{.scale = 1 / e, .count = 1}, order), laplace) << order << ' ' << e;
    }
  }
}

}  // namespace
}  // namespace obol::privacy
