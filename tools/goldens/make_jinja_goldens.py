#!/usr/bin/env python3
"""Writes tests/goldens/jinja.jsonl: templates, variables, and the text that Jinja makes of them, as transformers sets
it up for chat templates. A case that Jinja refuses has no text. Needs the package jinja2."""
import json
from pathlib import Path

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """{% generation %} … {% endgeneration %} writes what is between them."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = refuse

VARIABLES = {
    "messages": [
        {"role": "system", "content": " Be brief.\n"},
        {"role": "user", "content": "Grüße, 你好 😀"},
        {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nBecause.", "tool_calls": [
            {"function": {"name": "f", "arguments": {"x": 1, "y": [True, None, 2.5, "a\"b"]}}}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "A": 2, "c": 3}}}],
    "n": 7, "x": -2.5, "t": "  a,b,,c  ", "yes": True, "no": False, "nothing": None, "empty": [], "add_generation_prompt": True,
}

TEMPLATES = r'''
plain text
{{ n }} {{ x }} {{ yes }} {{ no }} {{ nothing }} {{ undefined_name }}|
{{ messages[0].content }}|{{ messages[0]['role'] }}|{{ messages[-1].role }}|{{ messages[0].nothing_here }}|
{{ messages[1]['content'][0] }}{{ messages[1].content[-1] }}|{{ messages[1].content[7:9] }}|{{ messages[1].content[::-1] }}
{{ messages[1:] | length }} {{ messages[:-1] | length }} {{ messages[::2] | length }} {{ messages[::-1][0].role }} {{ [1,2,3,4][1:3] }} {{ [1,2,3,4][-3:-1] }} {{ [1,2,3][5:] }} {{ 'abc'[3] }}|
{{ 1 + 2 * 3 - 4 }} {{ 7 // 2 }} {{ 7 / 2 }} {{ 7 % 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 3 }} {{ 1.5 + 1.5 }} {{ 3 * 1.0 }} {{ -n }} {{ +n }} {{ 1 ~ 2 ~ 'a' }} {{ 'a' + 'b' }} {{ [1] + [2] }}
{{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' == 'a' }} {{ 'a' != 'b' }} {{ 1 < 2 }} {{ 'a' < 'b' }} {{ 2 >= 2 }} {{ [1, 2] == [1, 2] }} {{ {'a': 1} == {'a': 1} }} {{ none == none }} {{ 1 == '1' }}
{{ 'b' in 'abc' }} {{ 'x' not in 'abc' }} {{ 2 in [1, 2] }} {{ 'role' in messages[0] }} {{ not 'role' in messages[0] }}
{{ yes and n }} {{ no or 'other' }} {{ nothing or no or 0 }} {{ not yes }} {{ not no and yes }} {{ 'a' if no else 'b' }} {{ 'a' if yes }}{{ 'a' if no }}|{{ 1 if no else 2 if yes else 3 }}
{{ 'it\'s' }} {{ "q\"q" }} {{ 'tab\tline\nnext\\' }} {{ '\x41\u00e9\u4f60' }} {{ '\q' }} {{ 'a' 'b' }}
{{ ['a', 'it\'s', "q\"", "both'\"", 1.0, none, true] }} {{ {'k': [1, {'z': 'x\ny'}]} }} {{ (1, 2)[0] }}
{{ t | trim }}|{{ t.strip() }}|{{ t.lstrip() }}|{{ t.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ '/think a/'.rstrip('/') }}
{{ t.split(',') }} {{ t.split() }} {{ 'a  b c'.split(none, 1) }} {{ 'a</think>b</think>c'.split('</think>')[-1] }} {{ 'a</think>b'.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') }} {{ 'a,b,c'.split(',', 1) }}
{{ 'aXbX'.replace('X', '--') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'aXb' | replace('X', '') }} {{ 'Hello'.upper() }} {{ 'Hello'.lower() }} {{ 'hello world' | title }} {{ 'hELLO wORLD' | capitalize }} {{ 'Hello'.startswith('He') }} {{ 'Hello'.endswith(('lo', 'x')) }} {{ 'banana'.count('an') }} {{ 'banana'.find('n') }}
{{ 'a\nb\n'.splitlines() }} {{ ','.join(['a', 'b']) }} {{ ['a', 'b', 3] | join('-') }} {{ 'abc' | join('.') }} {{ messages | join(',', attribute='role') }}
{{ messages[2].tool_calls[0].function.arguments | tojson }} {{ tools | tojson }} {{ 'é"\n' | tojson }} {{ 1.0 | tojson }} {{ {} | tojson }} {{ [] | tojson(indent=2) }}
{{ tools | tojson(indent=4) }}
{{ tools[0].function.parameters | dictsort | map('join', '=') | list }} {{ tools[0].function.parameters | items | map('first') | list }} {{ tools[0].function.parameters.keys() | list }} {{ tools[0].function.parameters.values() | list }}
{% for k, v in tools[0].function.parameters.items() %}{{ k }}={{ v }};{% endfor %}{% for k in tools[0].function %}{{ k }} {% endfor %}
{{ messages[0].get('role') }} {{ messages[0].get('x') }} {{ messages[0].get('x', 'default') }}
{{ undefined_name | default('d') }} {{ '' | default('d') }} {{ '' | default('d', true) }} {{ none | default('d') }} {{ undefined_name | d('e') }}
{{ messages | map(attribute='role') | list }} {{ ['a', 'b'] | map('upper') | join }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | rejectattr('role', '==', 'user') | map(attribute='role') | join(' ') }} {{ [0, 1, '', 'a'] | select | list }} {{ [1, 2, 3] | reject('odd') | list }} {{ messages | selectattr('tool_calls') | list | length }} {{ messages | selectattr('tool_calls', 'defined') | list | length }}
{{ [3, 1, 2] | sort }} {{ ['b', 'A', 'c'] | sort }} {{ [3, 1, 2] | sort(reverse=true) }} {{ [1, 2] | first }} {{ [1, 2] | last }} {{ [1, 2, 3] | reverse | list }} {{ 'abc' | reverse }} {{ [] | first }}|
{{ '42' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ 3.9 | int }} {{ '2.5' | float }} {{ -3 | abs }} {{ 5 | string + 'x' }} {{ 'a\nb\n\nc' | indent }} {{ 'a\nb' | indent(2, first=true) }}
{{ n is number }} {{ n is integer }} {{ x is float }} {{ t is string }} {{ messages is sequence }} {{ messages is iterable }} {{ messages[0] is mapping }} {{ nothing is none }} {{ nothing is not none }} {{ undefined_name is defined }} {{ undefined_name is undefined }} {{ yes is boolean }} {{ yes is true }} {{ 1 is true }} {{ no is false }} {{ t is iterable }} {{ 4 is even }} {{ 4 is divisibleby 2 }} {{ 3 is in [3] }} {{ n is eq 7 }} {{ not undefined_name is defined }} {{ messages[0].x is defined and messages[0].x is not none }}
{% if n > 5 %}big{% elif n > 3 %}middle{% else %}small{% endif %}|{% if not empty %}empty{% endif %}|{% if no %}a{% else %}b{% endif %}
{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }} {{ loop.previtem.role if not loop.first }} {{ loop.nextitem.role if not loop.last }};{% endfor %}
{% for m in messages if m.role != 'user' %}{{ loop.index }}{{ m.role }} {% endfor %}{% for m in empty %}x{% else %}none{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 1, -2) %}{{ i }}{% endfor %}{% for a, b in [[1, 2], [3, 4]] %}{{ a + b }} {% endfor %}
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% set a = 1 %}{% for i in range(3) %}{% set a = a + i %}{{ a }}{% endfor %}{{ a }}{% set ns = namespace(count=0, last='') %}{% for m in messages %}{% set ns.count = ns.count + 1 %}{% set ns.last = m.role %}{% endfor %}{{ ns.count }}{{ ns.last }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 3, 4 %}{{ c[1] }}{% set block %}in {{ n }}{% endset %}[{{ block }}]{% if yes %}{% set d = 'kept' %}{% endif %}{{ d }}
{% macro greet(name, mark='!') %}Hi {{ name }}{{ mark }}{% if n %}{{ n }}{% endif %}{% endmacro %}{{ greet('A') }} {{ greet('B', '?') }} {{ greet(name='C', mark='.') }} {{ greet() }}
{% macro fact(k) %}{% if k > 1 %}{{ k }}*{{ fact(k - 1) }}{% else %}1{% endif %}{% endmacro %}{{ fact(5) }}
{% generation %}{{ n }}{% endgeneration %}{{ '{{' }} {{ "%}" }}
{{ {'a': {'b': 1}}.a.b }} {{ {'a': 1}['a'] }} {{ {'items': 1}['items'] }} {{ {1: 'x'} | length }} {{ {'a': 1, 'a': 2} }}
{{ dict(a=1, b=2) }} {{ namespace(a=1).a }}
{{ (messages | length) - 1 }} {{ messages|length-1 }} {{ -1 | abs }} {{ 2 * 3 ~ 'x' }} {{ 1 if n == 7 and yes else 2 }}
{{ 'a' ~ 1 + 2 }}
{{ undefined_name.x }}
{{ messages[0].content + 1 }}
{{ raise_exception('no') }}
{{ 1 / 0 }}
{{ undefined_function(1) }}
{{ 'a' < 1 }}
{{ n.x }}|
{% for a in 5 %}{% endfor %}
{{ undefined_name | length }} {{ undefined_name | list }} {% for a in undefined_name %}x{% endfor %}|
{% if undefined_name %}a{% else %}b{% endif %}{{ undefined_name ~ 'x' }}
{% if messages[0].role == 'system' %}{% set system = messages[0].content | trim %}{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}{{ system }}{% for m in rest %}<{{ m.role }}>{{ m.content | trim }}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}
'''


def main():
    lines = []
    templates = TEMPLATES.strip("\n").split("\n")
    several = ["{# a comment #}a{# another\nline #}b\nc", "a   {%- if yes %}   b   {%- endif %}   c   {{- 'd' -}}   e",
               "  {%+ if yes %} kept {%+ endif %}|", "x {% for m in messages -%}\n  {{ m.role }}\n{%- endfor %}\ny",
               "\n{%- if yes -%}  stripped  {%- endif -%}\n", "  {% if yes %}\nline\n  {% endif %}\nafter", "a {# c #}\nb\n{# d #}\nc", "x {% if yes +%}\ny{% endif %}\n",
               "{% if yes %}\r\na\r\n{% endif %}\r\nb\r\n", "{{ n }}\n{{ n }}\n\n", "\n\n{{- n }}\n{{ n -}}\n\nx",
               "{% for i in range(2) %}\n{{ i }}\n{% endfor %}\n", "{% set a = 1 -%}\n\n  b", "{%- set a = [\n 1,\n 2 ] %}{{ a }}",
               "  {#- c -#}  x", "{% raw_is_no_name %}", "{{ 'a }}", "{% if yes %}", "{{ n", "{% endif %}", "{{ }}",
               "{% for in x %}{% endfor %}", "{{ n | nothing }}", "{{ n is nothing }}", "{{ 1 + }}", "{{ [1, }}", "{{ a b }}"]
    for template in templates + several:
        case = {"template": template}
        try:
            case["text"] = env.from_string(template).render(**VARIABLES)
        except Exception:  # pylint: disable=broad-except  # whatever Jinja refuses
            pass
        lines.append(json.dumps(case, ensure_ascii=False))
    path = Path(__file__).resolve().parents[2] / "tests/goldens/jinja.jsonl"
    header = json.dumps({"made_by": "tools/goldens/make_jinja_goldens.py", "jinja2": jinja2.__version__,
                         "variables": VARIABLES}, ensure_ascii=False)
    path.write_text("\n".join([header] + lines) + "\n", encoding="utf-8")
    print(len(lines), "cases,", sum('"text"' not in line for line in lines), "of them refused")


if __name__ == "__main__":
    main()
