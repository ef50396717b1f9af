// Graphs for tests.
#ifndef LANISTA_TESTS_GRAPH_GRAPH_TESTING_H_
#define LANISTA_TESTS_GRAPH_GRAPH_TESTING_H_

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"

namespace lanista::graph {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// The documents' Net, in small: two convolutions, dropout, two linear layers; the second one in a cell.
inline v1::ModelGraph SmallNet() {
  return Parse<v1::ModelGraph>(R"pb(
    version: 1
    name: "Net"
    graphs {
      name: "Net"
      inputs {
        name: "x"
        type {
          kind: TENSOR
          data_type: FLOAT32
          shape { dims: [ -1, 1, 8, 8 ] }
        }
      }
      nodes {
        name: "conv1"
        inputs { node: "x" }
        op {
          type: "Conv2d"
          attr {
            key: "in_channels"
            value { i: 1 }
          }
          attr {
            key: "kernel_size"
            value { i: 3 }
          }
          attr {
            key: "out_channels"
            value { i: 4 }
          }
        }
      }
      nodes {
        name: "relu"
        inputs { node: "conv1" }
        op { type: "ReLU" }
      }
      nodes {
        name: "conv2"
        inputs { node: "relu" }
        op {
          type: "Conv2d"
          attr {
            key: "in_channels"
            value { i: 4 }
          }
          attr {
            key: "kernel_size"
            value { i: 3 }
          }
          attr {
            key: "out_channels"
            value { i: 4 }
          }
          attr {
            key: "padding"
            value { i: 1 }
          }
        }
      }
      nodes {
        name: "relu_2"
        module: "relu"
        inputs { node: "conv2" }
        op { type: "ReLU" }
      }
      nodes {
        name: "dropout"
        inputs { node: "relu_2" }
        op { type: "Dropout" }
      }
      nodes {
        name: "flatten"
        inputs { node: "dropout" }
        op { type: "Flatten" }
      }
      nodes {
        name: "head"
        inputs { node: "flatten" }
        cell { graph: "Head" }
      }
      outputs { node: "head" }
    }
    graphs {
      name: "Head"
      inputs { name: "x" }
      nodes {
        name: "fc1"
        inputs { node: "x" }
        op {
          type: "Linear"
          attr {
            key: "in_features"
            value { i: 144 }
          }
          attr {
            key: "out_features"
            value { i: 16 }
          }
        }
      }
      nodes {
        name: "fc2"
        inputs { node: "fc1" }
        op {
          type: "Linear"
          attr {
            key: "in_features"
            value { i: 16 }
          }
          attr {
            key: "out_features"
            value { i: 10 }
          }
        }
      }
      outputs { node: "fc2" }
    })pb");
}

}  // namespace lanista::graph

#endif  // LANISTA_TESTS_GRAPH_GRAPH_TESTING_H_
