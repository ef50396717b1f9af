// The public interfaces of all actors: who may tell whom what. All that passes is protobuf (protos/messages.proto,
// trial.proto, node.proto) and handles.
//
//   HeadActor --> ExperimentActor <--> StrategyActor, StopperActor
//                   |        ^ \--> JournalActor, WatcherActor
//                   v        |
//                 EngineActor                (CGO: behind a CgoBatcherActor, where models wait for each other)
//                   v        ^
//                 TrainingServiceActor <--> WorkerActor (one a device) <--> trial process
//
// The worker of a node's device stands for one on another machine (NodesActor, and NodeActor there):
//
//   TrainingServiceActor <--> WorkerActor, NodesActor <-- gRPC --> NodeActor <--> WorkerActor <--> trial process
//
// An actor X has its public interface XActor here, and in its own file the state XState, the interface XSelf where it
// sends messages to itself, and the function X that CAF spawns. Only the functions of Strategy and Stopper have other
// names, StrategyBehavior and StopperBehavior, because the plain objects that these actors hold are called so.
#ifndef LANISTA_ACTORS_INTERFACES_H_
#define LANISTA_ACTORS_INTERFACES_H_

#include "actors/message_types.h"
#include "caf/typed_actor.hpp"
#include "src/base/node_link.h"

namespace lanista {

// Whoever shows an experiment.
using WatcherActor = caf::typed_actor<
    // Something happened. It is in the journal.
    caf::reacts_to<v1::ExperimentEvent>>;

// Writes one experiment's journal and holds its lock.
using JournalActor = caf::typed_actor<
    // Writes the facts together; answers once they are in the journal.
    caf::replies_to<v1::JournalBatch>::with<v1::Recorded>,
    // Answers at once, however long the facts that wait have to: it is alive.
    caf::replies_to<v1::Ack>::with<v1::Ack>>;

// Wraps a strategy.
using StrategyActor = caf::typed_actor<
    // Proposes samples.
    caf::replies_to<v1::AskRequest>::with<v1::AskReply>,
    // Learns an outcome.
    caf::reacts_to<v1::TellRequest>>;

// Wraps a stopper.
using StopperActor = caf::typed_actor<
    // Decides whether a model trains on after a step.
    caf::replies_to<v1::StepReport>::with<v1::StopVerdict>,
    // Learns that a model has its outcome; of the answer only `error` counts.
    caf::replies_to<v1::TellRequest>::with<v1::StopVerdict>>;

// Whoever gave trials to a training service.
using TrialOwnerActor = caf::typed_actor<
    // An attempt started, reported or ended.
    caf::reacts_to<v1::ModelEvent>>;

// Whoever runs an experiment's models: its owner learns what becomes of their attempts.
using ModelRunnerActor = caf::typed_actor<
    // Run these new models.
    caf::reacts_to<v1::RunModels>,
    // Run this model's next attempt, before new models that still wait.
    caf::reacts_to<v1::RunAgain>,
    // Stop this model, whose outcome is decided. Where it waits for a trial, it is forgotten: no event follows. Else
    // its attempt ends, as STOPPED_EARLY if nothing else has ended it before. No matter where it has ended.
    caf::reacts_to<v1::StopModel>,
    // These events are in the journal.
    caf::reacts_to<v1::EventsRecorded>,
    // Forget what waits, cancel what is queued or runs.
    caf::reacts_to<v1::CancelExperiment>>;

// Where models wait for each other before an engine plans their trials together.
using CgoBatcherActor = ModelRunnerActor;

// Turns models into trials.
using EngineActor = ModelRunnerActor::extend<
    // An attempt of one of its trials started, reported or ended.
    caf::reacts_to<v1::ModelEvent>,
    // The share of the devices that it has from now on.
    caf::reacts_to<v1::DeviceShare>>;

// Whoever runs trials and wants to know how many.
using DeviceUserActor = caf::typed_actor<
    // The share of the devices that it has from now on.
    caf::reacts_to<v1::DeviceShare>>;

// Whom an engine works for.
using ModelOwnerActor = caf::typed_actor<
    // These trials are about to be queued; answers once they are in the journal. After an error they must not run.
    caf::replies_to<v1::PlannedTrials>::with<v1::Ack>,
    // An attempt started, reported or ended.
    caf::reacts_to<v1::ModelEvent>,
    // The experiment's share of the devices is this now.
    caf::reacts_to<v1::DeviceShare>>;

// Owns one experiment: its life cycle, its limits and what is in flight.
using ExperimentActor = ModelOwnerActor::extend<
    // Stop: cancel what runs, record it, end.
    caf::reacts_to<v1::StopExperiment>>;

// Whom a worker works for.
using WorkerOwnerActor = caf::typed_actor<
    // The worker is idle.
    caf::reacts_to<v1::WorkerReady>,
    // Its trial process is up.
    caf::reacts_to<v1::ProcessUp>,
    // An attempt started, reported or ended.
    caf::reacts_to<v1::ModelEvent>,
    // The worker's trial is over: all its models have ended.
    caf::reacts_to<v1::TrialEnded>>;

// Owns one device and its trial process.
using WorkerActor = caf::typed_actor<
    // Run this trial. Only after WorkerReady, one at a time.
    caf::reacts_to<v1::TrialSpec>,
    // Cancel the trial, if it still runs. Without a number: the experiment's discovery, as long as its files are
    // brought to a node; one that has begun ends by itself, but a conversion ends now.
    caf::reacts_to<v1::CancelTrial>,
    // Stop one model of the trial, if it still runs. The others go on.
    caf::reacts_to<v1::StopModel>,
    // These events are in the journal: the trial may report more. Of model 0: all that the trial said, to its end.
    caf::reacts_to<v1::EventsRecorded>,
    // Learn a space and check an evaluator; or write a model in another form. Only after WorkerReady.
    caf::replies_to<v1::Discover>::with<v1::Discovered>>;

// Owns the pool of devices and the queue of trials.
using TrainingServiceActor = WorkerOwnerActor::extend<
    // Run this trial when a device is free; its events go to the owner.
    caf::reacts_to<v1::TrialSpec, TrialOwnerActor>,
    // Drop what the experiment queued, cancel what runs; or drop its discovery: it does not go on now.
    caf::reacts_to<v1::CancelExperiment>,
    // Take one model out of a trial that is queued or runs (its number is known), if it has not ended.
    caf::reacts_to<v1::StopModel>,
    // These events are in the journal; of model 0: all that a trial said, to its end.
    caf::reacts_to<v1::EventsRecorded>,
    // Of an experiment that goes on: the trials that nodes may bring back, perhaps none. Their events go to the owner.
    caf::reacts_to<v1::ReturningTrials, TrialOwnerActor>,
    // A node has joined that this head did not know. Answers with those of its trials that go on, once that is known of
    // all; what concerns them goes to the worker, which ends with the node.
    caf::replies_to<v1::NodeReturned, WorkerActor>::with<v1::KeptTrials>,
    // Learn a space and check an evaluator, on the first device that is free, or in a place beside devices that train.
    // ABORTED: a node has trials of this experiment, which is to go on with the space that it knew (ReturningTrials).
    // Or write a model in another form, in a place of a node: UNAVAILABLE, at once, where none can.
    caf::replies_to<v1::Discover>::with<v1::Discovered>,
    // The devices.
    caf::replies_to<v1::ListDevices>::with<v1::DeviceList>,
    // A device joins, with its worker: it gets work once the worker says that it is ready (WorkerReady with the number
    // of the answer). It leaves when the worker goes down: with ABORTED where what it has not begun is not to blame.
    // The offer is its node's.
    caf::replies_to<v1::DeviceJoined, v1::NodeOffer, WorkerActor>::with<v1::DeviceAdded>,
    // No new work for the devices of a node (it is silent, or drains); or some again.
    caf::reacts_to<v1::HoldNode>,
    // An experiment uses devices: its share is told at once and whenever it changes, until the user ends.
    caf::reacts_to<v1::WantDevices, DeviceUserActor>,
    // What an experiment waits for.
    caf::replies_to<v1::AskWaiting>::with<v1::Waiting>,
    // A source of nodes says what may come of it, and learns what waits.
    caf::replies_to<v1::ExpectDevices>::with<v1::DeviceDemand>>;

// The nodes of a head.
using NodesActor = caf::typed_actor<
    // A node said this on its stream; the stream is told when the next message may come.
    caf::reacts_to<NodeLinkPtr, v1::NodeMessage>,
    // A node's stream has ended.
    caf::reacts_to<NodeLinkPtr>,
    // A node is there. Answered with NOT_FOUND: it is not known, and has to join again.
    caf::reacts_to<HeartbeatPtr>,
    // What an assignment of a node's reads. NOT_FOUND: the node is not known, or has no such assignment.
    caf::replies_to<v1::ListInputsRequest>::with<v1::AssignmentInputs>,
    // Where what it writes belongs. NOT_FOUND: as above, or it writes nothing. ABORTED: it was canceled.
    caf::replies_to<v1::OutputsRequest>::with<v1::AssignmentOutputs>,
    // The nodes, by name.
    caf::replies_to<v1::ListNodesRequest>::with<v1::NodeList>,
    // No new work for a node, which leaves when its own has ended. NOT_FOUND: there is none of this name.
    caf::replies_to<v1::DrainNodeRequest>::with<v1::DrainNodeReply>>;

// A node: this machine's devices, which work for a head elsewhere.
using NodeActor = WorkerOwnerActor::extend<
    // A stream to the head is open: nothing was said on it yet.
    caf::reacts_to<HeadLinkPtr>,
    // The head said this.
    caf::reacts_to<HeadLinkPtr, v1::HeadMessage>,
    // The stream has ended, with this status.
    caf::reacts_to<HeadLinkPtr, v1::ErrorStatus>,
    // Leave: what runs is ended.
    caf::reacts_to<v1::NodeLeaving>>;

// Holds the experiments.
using HeadActor = caf::typed_actor<
    // Learns the space, checks the evaluator, explains plans; runs nothing.
    caf::replies_to<v1::ValidateExperiment>::with<v1::Validated>,
    // The same, then starts the experiment.
    caf::replies_to<v1::SubmitExperiment, WatcherActor>::with<v1::Submitted>,
    // Records an experiment (whose id and seed are not set) and answers; then does the same. What is wrong with it
    // becomes its final state.
    caf::replies_to<v1::ExperimentCreated, WatcherActor>::with<v1::Submitted>,
    // Goes on with one that nobody runs.
    caf::replies_to<v1::ResumeExperiment, WatcherActor>::with<v1::Submitted>,
    // Stops an experiment.
    caf::reacts_to<v1::StopExperiment>>;

}  // namespace lanista

// Handles that travel in messages stay in this process.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::DeviceUserActor)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::TrialOwnerActor)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::WatcherActor)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::WorkerActor)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::NodeLinkPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::HeadLinkPtr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::HeartbeatPtr)

#endif  // LANISTA_ACTORS_INTERFACES_H_
