"""Print a run's facts before, during and after training."""

import os
from contextlib import contextmanager

from tqdm import tqdm

import frameworks
from common.run import results
from common.system import machine


def announce(result, model):
    """Print a run's machine, settings, data and recipe."""
    settings, facts = result["settings"], result["machine"]
    off = settings["not_in_force"]
    switches = ", ".join(
        "%s=%s%s" % (name, value, " (not in force)" if name in off else "")
        for name, value in settings.items()
        if name != "not_in_force"
    )
    print("%s %s" % (result["title"], result["versions"]["framework"]))
    print("network    %s" % model.title)
    print("machine    %s" % machine.described(facts))
    if facts["gpus"] and settings["device"] == "cpu":
        print("gpu        %s" % unused_gpu(result["framework"], result["title"], facts))
    print("settings   lane %s: %s" % (result["lane"], switches))
    print("data       %s" % result["dataset"]["name"])
    images, epochs = result["dataset"]["train_images"], result["hyperparameters"]["epochs"]
    length = ": %d %s, %d epochs" % (images, model.task.observations, epochs) if epochs else ""
    print("recipe     %s%s" % (result["recipe"], length), flush=True)


def unused_gpu(name, title, facts):
    """Why a GPU of this machine is not used, and which environment would use it."""
    variant = frameworks.for_gpu(name)
    if variant:
        why = "this environment is for CPUs; for the GPU: tox run -e %s" % variant
    else:
        why = "%s finds none here that it can use" % title
    return "%s is not used: %s" % (facts["gpus"][0]["name"], why)


@contextmanager
def progress(label, steps, batch_size, noun):
    """Show an epoch's progress bar; yield a function that takes a block's (losses, seconds)."""
    with tqdm(total=steps, desc=label, unit="step", mininterval=0.5) as bar:

        def report(losses, seconds):
            rate = len(losses) * batch_size / seconds
            text = "loss %.4f, %.0f %s/s" % (losses[-1], rate, noun)
            bar.set_postfix_str(text, refresh=False)
            bar.update(len(losses))

        yield report


def summary(result, model, path):
    """A finished run in a few lines of text."""
    times, proof = result["timings"], result["certificate"]
    failed = [rung["rung"] for rung in proof["rungs"] if not rung["passed"]]
    lines = ["", "certificate  FAILED at: %s" % ", ".join(failed)]
    if proof["passed"]:
        lines = ["", "certificate  all %d rungs passed" % len(proof["rungs"])]
    late = result.get("late_updates")
    if late:
        word = "as the first" if late["passed"] else "NOT as the reference's: " + late["detail"]
        lines.append("updates      after %d steps %s" % (late["steps"], word))
    if "accuracy" in result:
        accuracy = result["accuracy"]
        percent = tuple(100 * share for share in [accuracy["value"]] + accuracy["interval"])
        line = "accuracy     %.2f%% (95%% interval %.2f to %.2f" % percent
        lines.append("%s, %d %s)" % (line, accuracy["n"], model.task.observations))
    elif "held_out_loss" in result:
        error = result["held_out_loss"]
        lines.append("loss         %.4f held out, %d tokens" % (error["value"], error["n"]))
        lines += ["wrote        " + text for text in result["sample"]["text"]]
    elif "joint_error" in result:
        error = result["joint_error"]
        distances = (error["value"], error["of_the_mean_pose"])
        lines.append("distance     %.4f sides of the image; the mean pose's: %.4f" % distances)
    else:
        error = result["rms_error"]
        errors = (error["one_step_ahead"], error["free_running"], error["of_the_mean"])
        lines.append(
            "error        %.4f one step ahead, %.4f free-running; the mean's: %.4f" % errors
        )
    if results.proven(result) and "step" in times:  # no time without proof
        step = times["step"]
        spread = tuple(1000 * seconds for seconds in [step["median"]] + step["quartiles"])
        whole = (times["train"], times["first_step"])
        lines.append("training     %.1f s, first step %.2f s" % whole)
        lines.append("step         %.1f ms median, quartiles %.1f to %.1f" % spread)
        line = "throughput   %.0f %s/s" % (times["images_per_second"], model.task.observations)
        if "share_of_matmul" in times:
            line += ", %.0f%% of this machine's float32 matrix product" % (
                100 * times["share_of_matmul"]
            )
        lines.append(line)
    if result["peak_memory_bytes"]:
        lines.append("memory       %.2f GB at its peak" % (result["peak_memory_bytes"] / 1e9))
    if path:
        lines.append("result file  %s" % shown(path))
    return "\n".join(lines)


def shown(path):
    """``path``, relative to the current folder if it is inside."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
