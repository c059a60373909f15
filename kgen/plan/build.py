"""Spec to plan: every decision about the emitted file, and every problem that stops one from being made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kgen.devices import UnknownName, device, target
from kgen.diagnostics import Diagnostic, KgenError
from kgen.expr import Expr, listing, nearest
from kgen.families import Family, family
from kgen.families.model import Value
from kgen.plan import invariance, knobs, parameters
from kgen.plan.domain import Domain, declared
from kgen.plan.errors import PlanProblem
from kgen.plan.groups import aligned_tensors, groups
from kgen.plan.model import Group, Plan, RegimePlan, Template
from kgen.plan.names import unknown_names
from kgen.plan.scope import Scope
from kgen.plan.templates import Templates
from kgen.spec import Import, Spec

GENERIC = "generic"


def build(spec: Spec, templates: Templates | None = None) -> Plan:
    """The plan of a spec. Raises KgenError with all problems that were found."""
    return _Builder(spec, templates or Templates()).plan()


def build_regime(spec: Spec, index: int, templates: Templates) -> RegimePlan:
    """The plan of one regime alone, of a spec whose other regimes are right. Raises KgenError as `build`."""
    builder = _Builder(spec, templates)
    builder.prepare()
    regime = builder.regime(index)
    builder.stop()
    return regime


@dataclass
class _Builder:
    """Collects problems, so that one run reports them all."""

    spec: Spec
    templates: Templates

    def prepare(self) -> None:
        """Everything that regimes share."""
        spec = self.spec
        self.found: list[Diagnostic] = []
        self.family: Family = family(spec.document.family)
        self.found += self.family.check(spec)
        self.tensors = self.family.tensors(spec)
        self._check_interface()
        sms = self._sms()
        self._check_targets()
        self.stop()
        self.axes = self._single_values()
        self._check_bindings()
        self._check_names()
        self.stop()
        self.constants: dict[str, tuple[Value, str]] = {
            **{name: (value, spec.axes[name].doc) for name, value in self.axes.items()},
            **self.family.constants(spec),
            "SMS": (sms, f"multiprocessors of {spec.document.devices[0]}"),
        }

    def plan(self) -> Plan:
        self.prepare()
        spec = self.spec
        if invariance.demanded(spec):
            batch = self.family.batch_axes & spec.axes.keys()
            self.found += invariance.dependent_outside(spec, batch)
        regimes = [self.regime(index) for index in range(len(spec.document.regimes))]
        self.stop()
        return Plan(
            spec=spec,
            family=self.family,
            tensors=self.tensors,
            scalars=self.family.scalars(spec),
            bindings=self.family.bindings(spec),
            constants=self.constants,
            regimes=tuple(regimes),
            judge=spec.document.judge,
            devices=spec.document.devices,
            targets=spec.document.targets,
        )

    def stop(self) -> None:
        if self.found:
            # two regimes with one variant say the same
            raise KgenError(dict.fromkeys(self.found))

    def _report(self, code: str, message: str, *key: str | int, hint: str = "") -> None:
        self.found.append(self.spec.diagnostic(code, message, *key, hint=hint))

    # -------------------------------------------------------- the document as a whole

    def _check_interface(self) -> None:
        inputs = [tensor.name for tensor in self.tensors if tensor.role == "input"]
        outputs = [tensor.name for tensor in self.tensors if tensor.role == "output"]
        optional = self.family.choices(self.spec)
        for field, code, needed in (("args", "KG404", inputs), ("returns", "KG405", outputs)):
            given = getattr(self.spec.document.interface, field)
            missing = [name for name in needed if name not in given]
            allowed = {*needed, *(optional if field == "args" else ())}
            if missing:
                self._report(
                    code,
                    f"interface.{field} leaves out {listing(missing)}",
                    "interface",
                    field,
                    hint=f"the {self.family.name} of this spec needs {listing(needed)}, in an order of your choice",
                )
            for position, name in enumerate(given):
                if name not in allowed:
                    close = nearest(name, allowed)
                    self._report(
                        code,
                        f"interface.{field} names `{name}`, which this spec does not have",
                        "interface",
                        field,
                        position,
                        hint=(
                            f"did you mean `{close}`?"
                            if close
                            else f"it has {listing(sorted(allowed))}"
                        ),
                    )
                elif name in given[:position]:
                    self._report(
                        code,
                        f"interface.{field} names `{name}` twice",
                        "interface",
                        field,
                        position,
                    )

    def _sms(self) -> int:
        found = 0
        for position, name in enumerate(self.spec.document.devices):
            try:
                found = found or device(name).sms
            except UnknownName as error:
                self._report("KG406", str(error), "devices", position)
        return found

    def _check_targets(self) -> None:
        for position, name in enumerate(self.spec.document.targets):
            try:
                target(name)
            except UnknownName as error:
                self._report("KG407", str(error), "targets", position)

    def _single_values(self) -> dict[str, Value]:
        """Axes with one value, which are constants of the file unless an argument has to be checked against it."""
        passed = set(self.family.scalars(self.spec).values())
        found: dict[str, Value] = {}
        for axis in self.spec.axes.values():
            if axis.const is not None:
                found[axis.name] = axis.const
            elif axis.values is not None and len(axis.values) == 1 and axis.name not in passed:
                found[axis.name] = axis.values[0]
        return found

    def _check_bindings(self) -> None:
        """Every axis that is not constant has to come from an argument."""
        bound = {binding.axis for binding in self.family.bindings(self.spec)}
        for axis in self.spec.axes.values():
            if not axis.runtime and axis.name not in {*bound, *self.axes}:
                self._report(
                    "KG419",
                    f"nothing in the arguments of {self.family.name} gives the axis {axis.name}",
                    "axes",
                    axis.name,
                    hint=f"arguments give {listing(sorted(bound))}; make it const, or remove it",
                )

    def _check_names(self) -> None:
        """Names of axes and knobs are upper case, so that none is one of the emitted file's, and none is kgen's own."""
        own = {*self.family.constants(self.spec), "SMS"}
        named = [("axes", "axis", name) for name in self.spec.axes]
        named += [("knobs", "knob", name) for name in self.spec.document.knobs]
        for section, kind, name in named:
            if name != name.upper():
                self._report(
                    "KG427",
                    f"the {kind} {name} is not in upper case, as the names of sizes are in an emitted file",
                    section,
                    name,
                    hint=f"call it {name.upper()}",
                )
            elif name in own:
                self._report(
                    "KG427",
                    f"the {kind} {name} has the name of a constant of {self.family.name}",
                    section,
                    name,
                    hint="give it another name",
                )

    def _shadowed(self, index: int, template: Template) -> bool:
        """Whether a parameter or derived value of a variant has the name of an axis, a knob or a constant."""
        variant = template.variant
        taken = {*self.spec.axes, *self.spec.document.knobs, *self.constants}
        names = [name for name in (*variant.parameters, *variant.let) if name in taken]
        for name in names:
            kind = "knob" if name in self.spec.document.knobs else "axis"
            what = "a knob" if kind == "knob" else "an axis or a constant"
            self._report(
                "KG427",
                f"{name} is {what} of this spec, and {template.name} declares it as its own",
                "regimes",
                index,
                hint=f"rename the {kind}",
            )
        return bool(names)

    # -------------------------------------------------------- one regime

    def regime(self, index: int) -> RegimePlan | None:
        regime = self.spec.document.regimes[index]
        fallback = regime.fallback is not None
        when = None if regime.when == "otherwise" else self.spec.expr("regimes", index, "when")
        call = regime.fallback.target if isinstance(regime.fallback, Import) else ""
        if regime.fallback == "torch":
            self._report(
                "KG417",
                f"{self.family.name} has no torch path to fall back to",
                "regimes",
                index,
                "fallback",
                hint='write `generic`, or `{import: "pkg.module:function"}`',
            )
            return None
        if fallback and when is not None:
            self._report(
                "KG426",
                f"the fallback {regime.name} has a condition, and a fallback takes what nothing before it takes",
                "regimes",
                index,
                "when",
                hint="write when: otherwise and put it last, or name a variant",
            )
            return None
        template = None
        if not call:
            template = self._template(index, GENERIC if fallback else regime.variant)
            if template is None or not self._covers(index, template):
                return None
            if self._shadowed(index, template):
                return None
        domain = self._domain(when, fallback)
        numbers: Mapping[str, int | bool] = {}
        turned: Mapping[str, knobs.Knob] = {}
        found = ()
        aligned: tuple[str, ...] = ()
        if template is not None:
            numbers, turned, problems = parameters.resolve(self.spec, index, template.variant)
            self.found += problems
            if problems:
                return None
            self._check_invariance(index, when, template, numbers)
            unknown = list(unknown_names(template, {*self.spec.axes, *self.constants}))
            if unknown:
                self.found += unknown
                return None
            template = replace(template, variant=knobs.turned(template.variant, turned))
            fixed = {name: value for name, value in numbers.items() if name not in turned}
            domain = knobs.widened(domain, turned)
            scope = self._scope(template, fixed, domain)
            try:
                found = groups(scope)
            except PlanProblem as problem:
                self._report(problem.code, problem.message, "regimes", index, hint=problem.hint)
                return None
            if not found:
                self._report(
                    "KG423",
                    f"no axis value gets to regime {regime.name}: its condition is false for all of them",
                    "regimes",
                    index,
                    "when",
                    hint="correct the condition, or remove the regime",
                )
                return None
            self._check_early_starts(index, found)
            aligned = aligned_tensors(scope, found)
        return RegimePlan(
            name=regime.name,
            when=when,
            index=index,
            fallback=fallback,
            template=template,
            call=call,
            parameters=numbers,
            knobs=turned,
            domain=domain,
            aligned=aligned,
            groups=found,
        )

    def _check_invariance(
        self, index: int, when: Expr | None, template: Template, numbers: Mapping[str, Value]
    ) -> None:
        if invariance.demanded(self.spec):
            axes = self.family.batch_axes
            self.found += invariance.dependent_choice(self.spec, index, when, axes)
            self.found += invariance.dependent_results(self.spec, index, template.variant, numbers)

    def _check_early_starts(self, index: int, found: tuple[Group, ...]) -> None:
        """A launch that may start early needs instruction sets that have such launches."""
        early = {kernel.role for group in found for kernel in group.kernels if kernel.dependent}
        lacking = [one for one in self.spec.document.targets if not target(one).launches_early]
        if early and lacking:
            self._report(
                "KG433",
                f"regime {self.spec.document.regimes[index].name}: {listing(sorted(early))} starts before the kernel"
                f" before it has ended, and {listing(lacking)} has no such launches",
                "regimes",
                index,
                hint="write combine: {launch: plain}, or targets from sm_90 on",
            )

    def _template(self, index: int, variant: str) -> Template | None:
        try:
            return self.templates.find(self.family.name, variant)
        except KgenError as error:
            self.found += error.diagnostics
        except LookupError as error:
            known = self.templates.names(self.family.name)
            close = nearest(variant, known)
            self._report(
                "KG408",
                str(error.args[0]),
                "regimes",
                index,
                "variant",
                hint=f"did you mean {close}?" if close else f"there are {listing(known)}",
            )
        return None

    def _covers(self, index: int, template: Template) -> bool:
        """Whether the variant covers what the spec asks for."""
        clean = True
        features = self.family.features(self.spec)
        for key, allowed in template.variant.covers.items():
            if key not in features:
                self._report(
                    "KG505",
                    f"variant {template.name} covers {key}, which {self.family.name} has not",
                    "regimes",
                    index,
                )
                clean = False
            elif not any(_same(features[key], one) for one in allowed):
                self._report(
                    "KG409",
                    f"variant {template.variant.variant} does not cover {key}: {_shown(features[key])}",
                    *key.split("."),
                    hint=f"it covers {', '.join(map(_shown, allowed))}",
                )
                clean = False
        return clean

    def _domain(self, when: Expr | None, fallback: bool) -> Domain:
        """Where the regime may run.

        A last regime also gets what earlier ones leave because of its alignment, so earlier conditions take nothing
        from it; a fallback that serves what lies outside the declared axes is held to the family's own limits.
        """
        domain = declared(self.spec.axes.values())
        if when is not None:
            return domain.where(when)
        if fallback and self.spec.document.interface.outside == "fallback":
            return domain.widened(self.family.limits(self.spec))
        return domain

    def _scope(
        self, template: Template, numbers: Mapping[str, int | bool], domain: Domain
    ) -> Scope:
        return Scope(
            variant=template.variant,
            tensors={tensor.name: tensor for tensor in self.tensors},
            optional=self.family.optional,
            named={name: value for name, (value, _) in self.constants.items()},
            parameters=numbers,
            domain=domain,
        )


def _same(feature: Value, allowed: Value) -> bool:
    """Equality that tells `true` from 1."""
    return type(feature) is type(allowed) and feature == allowed


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
