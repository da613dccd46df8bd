"""Random queries over the TPC-H tables, for comparison with another engine. A seed gives the same query always.

The forms follow what weft has: joins along and across foreign keys, outer joins, predicates of all kinds,
grouping with having, distinct, subqueries (exists, in, scalar; correlated and not), case, order by with limit.
Comparisons of quotients are avoided, and a limit comes only with an order that decides every row: there the two
engines may differ and both be right.
"""
import random

KEY, INT, MONEY, DATE, TEXT, CHAR = "key", "int", "money", "date", "text", "char"

TABLES = {
    "region": {"r_regionkey": (KEY, 0, 4), "r_name": (TEXT, ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"])},
    "nation": {"n_nationkey": (KEY, 0, 24), "n_name": (TEXT, ["ALGERIA", "FRANCE", "GERMANY", "JAPAN", "PERU"]),
               "n_regionkey": (KEY, 0, 4)},
    "supplier": {"s_suppkey": (KEY, 1, 100), "s_nationkey": (KEY, 0, 24), "s_acctbal": (MONEY, -900, 9900)},
    "customer": {"c_custkey": (KEY, 1, 1500), "c_nationkey": (KEY, 0, 24), "c_acctbal": (MONEY, -900, 9900),
                 "c_mktsegment": (TEXT, ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]),
                 "c_phone": (TEXT, ["11-", "13-", "25-", "30-"])},
    "part": {"p_partkey": (KEY, 1, 2000), "p_size": (INT, 1, 50), "p_retailprice": (MONEY, 900, 2000),
             "p_brand": (TEXT, ["Brand#11", "Brand#23", "Brand#34", "Brand#55"]),
             "p_container": (TEXT, ["SM CASE", "MED BOX", "JUMBO PKG", "WRAP JAR"]),
             "p_type": (TEXT, ["PROMO BURNISHED COPPER", "STANDARD BRUSHED TIN", "ECONOMY ANODIZED STEEL"])},
    "partsupp": {"ps_partkey": (KEY, 1, 2000), "ps_suppkey": (KEY, 1, 100), "ps_availqty": (INT, 1, 9999),
                 "ps_supplycost": (MONEY, 1, 1000)},
    "orders": {"o_orderkey": (KEY, 1, 60000), "o_custkey": (KEY, 1, 1500), "o_orderstatus": (CHAR, ["F", "O", "P"]),
               "o_totalprice": (MONEY, 1000, 400000), "o_orderdate": (DATE, 1992, 1998),
               "o_orderpriority": (TEXT, ["1-URGENT", "2-HIGH", "5-LOW"])},
    "lineitem": {"l_orderkey": (KEY, 1, 60000), "l_partkey": (KEY, 1, 2000), "l_suppkey": (KEY, 1, 100),
                 "l_linenumber": (INT, 1, 7), "l_quantity": (MONEY, 1, 50), "l_extendedprice": (MONEY, 900, 95000),
                 "l_discount": (MONEY, 0, 0.1), "l_tax": (MONEY, 0, 0.08), "l_returnflag": (CHAR, ["A", "N", "R"]),
                 "l_shipdate": (DATE, 1992, 1998), "l_receiptdate": (DATE, 1992, 1998),
                 "l_shipmode": (TEXT, ["AIR", "MAIL", "SHIP", "TRUCK"])},
}
# Each pair can be joined by these columns.
EDGES = [
    ("nation", "region", [("n_regionkey", "r_regionkey")]),
    ("supplier", "nation", [("s_nationkey", "n_nationkey")]),
    ("customer", "nation", [("c_nationkey", "n_nationkey")]),
    ("orders", "customer", [("o_custkey", "c_custkey")]),
    ("lineitem", "orders", [("l_orderkey", "o_orderkey")]),
    ("lineitem", "part", [("l_partkey", "p_partkey")]),
    ("lineitem", "supplier", [("l_suppkey", "s_suppkey")]),
    ("lineitem", "partsupp", [("l_partkey", "ps_partkey"), ("l_suppkey", "ps_suppkey")]),
    ("partsupp", "part", [("ps_partkey", "p_partkey")]),
    ("partsupp", "supplier", [("ps_suppkey", "s_suppkey")]),
]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.aliases = 0

    # -- small choices
    def chance(self, p):
        return self.random.random() < p

    def pick(self, items):
        return self.random.choice(list(items))

    def literal(self, spec):
        kind, low, *high = spec
        if kind in (TEXT, CHAR):
            return "'" + self.pick(low) + "'"
        if kind == DATE:
            year, month, day = self.random.randint(low, high[0]), self.random.randint(1, 12), self.random.randint(1, 28)
            return f"date '{year}-{month:02}-{day:02}'"
        if kind == MONEY:
            return f"{self.random.uniform(low, high[0]):.2f}"
        return str(self.random.randint(low, high[0]))

    # -- tables in from: a list of (alias, table), and conditions that join them
    def tables(self, count):
        self.aliases += 1
        start = self.pick(TABLES)
        chosen = [(f"t{self.aliases}", start)]
        conditions = []
        for _ in range(count - 1):
            alias, table = self.pick(chosen)
            edges = [e for e in EDGES if table in e[:2]]
            left, right, columns = self.pick(edges)
            other = right if left == table else left
            self.aliases += 1
            new = f"t{self.aliases}"
            names = {table: alias, other: new}
            if left == right:
                names = {left: alias}
            conditions.append(" and ".join(f"{names[left]}.{a} = {names[right]}.{b}" for a, b in columns))
            chosen.append((new, other))
        return chosen, conditions

    def column(self, tables, kinds=None):
        options = [(f"{alias}.{name}", spec) for alias, table in tables for name, spec in TABLES[table].items()
                   if kinds is None or spec[0] in kinds]
        return self.pick(options) if options else None

    # -- values and predicates
    def number(self, tables, depth=0):
        found = self.column(tables, (INT, MONEY, KEY))
        name, spec = found
        roll = self.random.random()
        if depth > 1 or roll < 0.45:
            return name
        if roll < 0.6:
            return f"({name} + {self.number(tables, depth + 1)})"
        if roll < 0.7:
            return f"({name} - {self.number(tables, depth + 1)})"
        if roll < 0.85:
            return f"({name} * {self.pick([2, 3, '(1 - 0.07)', '1.5', -4])})"
        return f"case when {self.predicate(tables, 1)} then {name} else {self.pick(['0', '1.25', name + ' * 2', 'null'])} end"

    def predicate(self, tables, depth=0):
        roll = self.random.random()
        if depth < 2 and roll < 0.12:
            return f"({self.predicate(tables, depth + 1)} or {self.predicate(tables, depth + 1)})"
        if depth < 2 and roll < 0.17:
            return f"not ({self.predicate(tables, depth + 1)} and {self.predicate(tables, depth + 1)})"
        name, spec = self.column(tables)
        operator = self.pick(["<", "<=", ">", ">=", "=", "<>"])
        if spec[0] in (TEXT, CHAR):
            values = spec[1]
            form = self.random.random()
            if spec[0] == TEXT and form < 0.3:
                word = self.pick(values)
                cut = self.random.randint(1, len(word))
                pattern = self.pick([word[:cut] + "%", "%" + word[-cut:], "%" + word[1:cut + 1] + "%",
                                     word[:1] + "_" + word[2:cut + 1] + "%", "%" + word[:1] + "%" + word[-1:] + "%"])
                return f"{name} {self.pick(['', 'not '])}like '{pattern}'"
            if spec[0] == TEXT and form < 0.45:
                length = self.random.randint(1, 4)
                some = ", ".join("'" + v[:length] + "'" for v in self.random.sample(values, 2))
                return f"substring({name} from 1 for {length}) in ({some})"
            if form < 0.7:
                some = ", ".join("'" + v + "'" for v in self.random.sample(values, 2))
                return f"{name} {self.pick(['', 'not '])}in ({some})"
            return f"{name} {operator} {self.literal(spec)}"
        if spec[0] == DATE and self.chance(0.3):
            return f"extract(year from {name}) {operator} {self.random.randint(1992, 1998)}"
        if spec[0] == DATE and self.chance(0.3):
            return f"{name} < {self.literal(spec)} + interval '{self.random.randint(1, 9)}' {self.pick(['day', 'month', 'year'])}"
        if self.chance(0.25):
            low, high = sorted([self.literal(spec), self.literal(spec)], key=lambda v: v if spec[0] == DATE else float(v))
            return f"{name} between {low} and {high}"
        if spec[0] in (INT, KEY) and self.chance(0.2):
            some = ", ".join(self.literal(spec) for _ in range(4))
            return f"{name} {self.pick(['', 'not '])}in ({some})"
        if spec[0] in (INT, MONEY) and self.chance(0.2):
            return f"{self.number(tables, 1)} {operator} {self.number(tables, 1)}"
        if spec[0] == DATE and self.chance(0.3):
            other = self.column(tables, (DATE,))
            return f"{name} {operator} {other[0]}"
        return f"{name} {operator} {self.literal(spec)}"

    # A table joined to one of the outer ones along an edge: (inner tables, correlation)
    def correlated(self, outer):
        alias, table = self.pick(outer)
        edges = [e for e in EDGES if table in e[:2]]
        left, right, columns = self.pick(edges)
        other = right if left == table else left
        self.aliases += 1
        inner = f"t{self.aliases}"
        names = {table: alias, other: inner}
        return [(inner, other)], " and ".join(f"{names[left]}.{a} = {names[right]}.{b}" for a, b in columns)

    def subquery(self, outer):
        form = self.random.random()
        inner, correlation = self.correlated(outer)
        alias, table = inner[0]
        local = f" and {self.predicate(inner)}" if self.chance(0.7) else ""
        source = f"from {table} {alias} where {correlation}{local}"
        if form < 0.35:
            extra = ""
            if self.chance(0.3):
                mine, theirs = self.column(inner, (KEY, INT)), self.column(outer, (KEY, INT))
                extra = f" and {mine[0]} {self.pick(['<>', '<', '>'])} {theirs[0]}"
            return f"{self.pick(['', 'not '])}exists (select * {source}{extra})"
        if form < 0.6:
            left, right = correlation.split(" and ")[0].split(" = ")
            mine, theirs = (left, right) if left.startswith(alias + ".") else (right, left)
            where = f" where {self.predicate(inner)}" if self.chance(0.8) else ""
            return f"{theirs} {self.pick(['', 'not '])}in (select {mine} from {table} {alias}{where})"
        aggregate = self.pick(["min", "max", "sum"])
        value = self.column(inner, (INT, MONEY))
        name = value[0] if value else self.column(inner, (KEY,))[0]
        kinds = (INT, MONEY) if self.column(outer, (INT, MONEY)) else (KEY,)
        theirs = self.column(outer, kinds)[0]
        if form < 0.85:
            return f"{theirs} {self.pick(['<', '>', '<>'])} (select {aggregate}({name}) {source})"
        if form < 0.93:
            return f"{self.random.randint(0, 3)} {self.pick(['<', '=', '>'])} (select count(*) {source})"
        return f"{theirs} {self.pick(['<', '>'])} (select {aggregate}({name}) from {table} {alias})"

    # -- whole queries
    def from_clause(self):
        count = self.random.choices([1, 2, 3, 4], [3, 4, 3, 1])[0]
        tables, conditions = self.tables(count)
        if count == 1 or self.chance(0.7):
            text = ", ".join(f"{table} {alias}" for alias, table in tables)
            return tables, text, conditions
        text = f"{tables[0][1]} {tables[0][0]}"
        for (alias, table), condition in zip(tables[1:], conditions):
            kind = self.pick(["join", "left outer join", "left outer join"])
            if kind != "join" and self.chance(0.4):
                condition += f" and {self.predicate([(alias, table)])}"
            text += f" {kind} {table} {alias} on {condition}"
        return tables, text, []

    def query(self):
        tables, source, conditions = self.from_clause()
        where = conditions + [self.predicate(tables) for _ in range(self.random.randint(0, 3))]
        if self.chance(0.4):
            where.append(self.subquery(tables))
            if self.chance(0.25):
                where[-1] = f"({where[-1]} or {self.predicate(tables)})"
        where_text = f" where {' and '.join(where)}" if where else ""
        form = self.random.random()
        if form < 0.5:
            return self.hinted(tables, source, self.grouped(tables, source, where_text))
        if form < 0.6:
            return self.regrouped(tables, source, where_text)
        if form < 0.75:
            return self.hinted(tables, source, self.aggregated(tables, source, where_text))
        return self.plain(tables, source, where_text, distinct=form > 0.88)

    def aggregate(self, tables):
        form = self.random.random()
        if form < 0.2:
            return "count(*)"
        if form < 0.3:
            return f"count({self.column(tables)[0]})"
        if form < 0.4:
            return f"{self.pick(['min', 'max'])}({self.column(tables)[0]})"
        return f"{self.pick(['sum', 'sum', 'avg', 'min', 'max'])}({self.number(tables)})"

    def aggregates(self, tables):
        result = [self.aggregate(tables) for _ in range(self.random.randint(1, 4))]
        if self.chance(0.15):
            result.append(f"count(distinct {self.column(tables)[0]})")
        return result

    def aggregated(self, tables, source, where):
        return f"select {', '.join(self.aggregates(tables))} from {source}{where}"

    def group_key(self, tables):
        name, spec = self.column(tables)
        if spec[0] == DATE and self.chance(0.6):
            return f"extract(year from {name})"
        if spec[0] == TEXT and self.chance(0.2):
            return f"substring({name} from 1 for 2)"
        if spec[0] == INT and self.chance(0.3):
            return f"{name} * 2 + 1"
        return name

    def grouped(self, tables, source, where):
        keys = [self.group_key(tables) for _ in range(self.random.randint(1, 3))]
        values = self.aggregates(tables)
        text = f"select {', '.join(keys + values)} from {source}{where} group by {', '.join(dict.fromkeys(keys))}"
        if self.chance(0.3):
            text += f" having count(*) {self.pick(['>', '<', '='])} {self.random.randint(1, 20)}"
        return text

    # A grouping of the rows of a grouping, as a derived table or a common table used twice.
    def regrouped(self, tables, source, where):
        key, value = self.group_key(tables), self.number(tables)
        inner = f"select {key} as k, count(*) as n, sum({value}) as s from {source}{where} group by {key}"
        if self.chance(0.5):
            return f"select n, count(*), sum(s), min(k) from ({inner}) as g where n {self.pick(['>', '<'])} 5 group by n"
        outer = self.pick(["a.n = (select max(n) from g)", "a.k in (select k from g where n > 2)",
                           "exists (select * from g where g.n > a.n)"])
        return f"with g as ({inner}) select a.k, a.n, b.s from g a, g b where a.k = b.k and {outer}"

    # Forces a join order and turns groupjoins off at random: the answer must not depend on the plan.
    def hinted(self, tables, source, text):
        hints = ["no_groupjoin"] if self.chance(0.3) else []
        if len(tables) > 1 and " join " not in source and self.chance(0.6):
            trees = [alias for alias, _ in tables]
            while len(trees) > 1:
                left, right = trees.pop(0), trees.pop(0)
                trees.insert(0, f"({left} {right})" if self.chance(0.5) else f"({right} {left})")
            hints.append("leading" + trees[0])
        return text.replace("select ", f"select /*+ {' '.join(hints)} */ ", 1) if hints else text

    def plain(self, tables, source, where, distinct):
        columns = []
        for _ in range(self.random.randint(1, 4)):
            columns.append(self.number(tables) if self.chance(0.4) else self.column(tables)[0])
        named = ", ".join(f"{c} as c{i}" for i, c in enumerate(columns))
        text = f"select {'distinct ' if distinct else ''}{named} from {source}{where}"
        order = [f"c{i} {self.pick(['', 'desc'])} {self.pick(['nulls first', 'nulls last'])}" for i in range(len(columns))]
        self.random.shuffle(order)
        # Ordered by every column, rows that tie are equal, so the limit decides.
        return f"{text} order by {', '.join(order)} limit {self.pick([1, 10, 100, 1000])}"


def query(seed):
    return Generator(seed).query()
