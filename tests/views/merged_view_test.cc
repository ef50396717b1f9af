#include "src/views/merged_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// Two models are merged, the second one breaks and runs again alone, a third one waits.
constexpr char kRecords[] = R"pb(
  records { model { model: 1 } }
  records { model { model: 2 } }
  records { model { model: 3 } }
  records {
    time { seconds: 100 }
    trial {
      trial: 1
      members { model: 1 attempt: 1 }
      members { model: 2 attempt: 1 }
      plan {
        memory: 3145728
        work { models: [ 1, 2 ] }
        work {
          models: [ 1, 2 ]
          steps: 4
          first: "a (Conv2d)"
          last: "d (ReLU)"
        }
        work {
          models: [ 1 ]
          steps: 2
          first: "e (Linear)"
          last: "f (ReLU)"
          own_because: "it is the model's own"
        }
        work {
          models: [ 2 ]
          steps: 3
          first: "g (Linear)"
          last: "i (ReLU)"
        }
      }
    }
  }
  records {
    event {
      model: 1
      attempt: 1
      sequence: 1
      time { seconds: 101 }
      started { device { kind: CPU node: "host" } }
    }
  }
  records {
    event {
      model: 2
      attempt: 1
      sequence: 1
      time { seconds: 102 }
      started { device { kind: CPU node: "host" } }
    }
  }
  records {
    event {
      model: 2
      attempt: 1
      sequence: 2
      time { seconds: 103 }
      ended {
        outcome: UNMERGED
        models_memory: 2097152
        failure { reason: MERGED_TRIAL_FAILED message: "it broke" }
      }
    }
  }
  records {
    event {
      model: 1
      attempt: 1
      sequence: 2
      time { seconds: 105 }
      ended { outcome: SUCCEEDED models_memory: 4194304 }
    }
  }
  records {
    time { seconds: 104 }
    trial {
      trial: 2
      members { model: 2 attempt: 2 }
      alone_because: "it runs again after merged trial 1"
    }
  }
  records {
    time { seconds: 106 }
    trial {
      trial: 3
      members { model: 3 attempt: 1 }
      plan {
        memory: 1000
        work {
          models: [ 3 ]
          steps: 1
        }
      }
    }
  }
)pb";

class MergedViewTest : public ::testing::Test {
 protected:
  Json Document(const std::string& records, const std::string& engine) {
    v1::ExperimentCreated created;
    created.set_experiment("cgo-1");
    *created.mutable_config()->mutable_engine() = Parse<v1::EngineConfig>(engine);
    const auto writer = JournalWriter::Create(temp_.path() + "/e", created);
    EXPECT_TRUE((*writer)->Write(Batch(records)).ok());
    return MergedTrialsDocument(*JournalReader::Open(temp_.path() + "/e")).value();
  }

  TempFolder temp_;
};

TEST_F(MergedViewTest, SaysWhatWasSharedWhatItTookAndWhatFellBack) {
  const Json document = Document(kRecords, "cgo {}");
  EXPECT_EQ(document["merges"], true);
  ASSERT_EQ(document["trials"].size(), 3u);
  const Json& merged = document["trials"][0];
  EXPECT_EQ(merged["queued"], "1970-01-01T00:01:40.000Z");
  EXPECT_TRUE(merged["alone_because"].is_null());
  EXPECT_EQ(merged["estimated_memory"], 3 << 20);
  EXPECT_EQ(merged["measured_memory"], 4 << 20) << "the most that any of them saw";
  EXPECT_EQ(merged["device"], "cpu:0");
  EXPECT_EQ(merged["start"], "1970-01-01T00:01:41.000Z");
  EXPECT_EQ(merged["end"], "1970-01-01T00:01:45.000Z");
  EXPECT_EQ(merged["seconds"], 4);
  EXPECT_EQ(merged["steps"], 9);
  EXPECT_EQ(merged["steps_alone"], 13);
  EXPECT_EQ(merged["work"].size(), 4u);
  EXPECT_EQ(merged["work"][2]["own_because"], "it is the model's own");
  EXPECT_EQ(merged["models"][0]["outcome"], "SUCCEEDED");
  EXPECT_TRUE(merged["models"][0]["again"].is_null());
  EXPECT_EQ(merged["models"][1]["again"], (Json{{"attempt", 2}, {"trial", 2}, {"because", "it broke"}}));

  const Json& again = document["trials"][1];
  EXPECT_EQ(again["alone_because"], "it runs again after merged trial 1");
  EXPECT_TRUE(again["seconds"].is_null());
  EXPECT_TRUE(again["models"][0]["outcome"].is_null());
  EXPECT_TRUE(again["steps"].is_null());

  const Json& unknown = document["trials"][2];
  EXPECT_TRUE(unknown["steps"].is_null()) << "of its model no step is known";
}

TEST_F(MergedViewTest, TheTableSaysTheSame) {
  const std::string text = MergedTrialsText(Document(kRecords, "cgo {}"));
  EXPECT_THAT(text, HasSubstr("1 2     9 of 13    3.0 MiB   4.0 MiB      4.0  2: it broke"));
  EXPECT_THAT(text, HasSubstr("it runs again after merged trial 1"));
}

TEST_F(MergedViewTest, ATrialOfWhichAModelStillRunsHasNoEnd) {
  const Json document = Document(R"(
    records { model { model: 1 } } records { model { model: 2 } }
    records { trial { trial: 1 members { model: 1 attempt: 1 } members { model: 2 attempt: 1 } } }
    records { event { model: 1 attempt: 1 sequence: 1 started { device { kind: CPU } } } }
    records { event { model: 1 attempt: 1 sequence: 2 ended { outcome: SUCCEEDED } } })",
                                 "cgo {}");
  ASSERT_EQ(document["trials"].size(), 1u);
  EXPECT_FALSE(document["trials"][0]["start"].is_null());
  EXPECT_TRUE(document["trials"][0]["end"].is_null());
  EXPECT_TRUE(document["trials"][0]["work"].empty()) << "no plan was recorded";
}

TEST_F(MergedViewTest, OtherEnginesMergeNothing) {
  const Json document =
      Document("records { model { model: 1 } } records { trial { trial: 1 members { model: 1 } } }", "graph {}");
  EXPECT_EQ(document["merges"], false);
  EXPECT_TRUE(document["trials"].empty());
  EXPECT_EQ(MergedTrialsText(document), "the engine of this experiment merges no models\n");
}

}  // namespace
}  // namespace lanista
