// LANISTA_REGISTER: how a program makes its components known by name, whatever their kind.
#ifndef LANISTA_SRC_BASE_REGISTER_H_
#define LANISTA_SRC_BASE_REGISTER_H_

// For LANISTA_REGISTER_CONCAT_.
#define LANISTA_REGISTER_CONCAT_INNER_(a, b) a##b
// One identifier of two, after macros in them are expanded.
#define LANISTA_REGISTER_CONCAT_(a, b) LANISTA_REGISTER_CONCAT_INNER_(a, b)

// Registers a component of the user's own under a name, at namespace scope:
//
//   LANISTA_REGISTER(strategy, "mine", MakeMine);                     // strategy { custom { name: "mine" } }
//   LANISTA_REGISTER(evaluator, "my_way", TrainMyWay);                // evaluator { custom { name: "my_way" } }
//   LANISTA_REGISTER(model_space, "net", nn::MakeModelSpace<Net>);    // space { registered: "net" }
//
// `kind` is model_space, graph_space, strategy, stopper, dataset, transform, evaluator, mutator, device_source or
// node_source. The header of the kind's interface declares kinds::KIND, whose Register says what `make` may be: a
// function, or a lambda that captures nothing which differs between processes. Two components of one kind and name end
// the program with a message that says so: it runs before main.
//
// In a library of Bazel use `alwayslink`, and with CMake an object library: a linker drops files that nothing refers
// to.
#define LANISTA_REGISTER(kind, name, make)                                                                  \
  [[maybe_unused]] static const bool LANISTA_REGISTER_CONCAT_(lanista_registered_component_, __COUNTER__) = \
      ::lanista::kinds::kind::Register(#kind, name, make)

#endif  // LANISTA_SRC_BASE_REGISTER_H_
