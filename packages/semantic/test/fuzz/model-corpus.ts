/** A model that uses every key of the format, to be mutated. */
export const everyKeyYaml = `
cubes:
  - name: orders
    sql_table: public.orders
    sql_alias: o
    title: Orders
    description: >
      One row each
      of the orders
    public: true
    meta: { synonyms: [sales, "kæufe"], ai_context: "Ask for dates", deep: { a: [1, 2.5, true, null] } }
    refresh_key: { every: 1 hour }
    pre_aggregations: [{ name: main, measures: [count] }]
    joins:
      - { name: users, relationship: many_to_one, sql: "{CUBE}.user_id = {users.id}" }
      - { name: items, relationship: hasMany, sql: "{CUBE.id} = {items}.order_id" }
    dimensions:
      - &id { name: id, sql: id, type: number, primary_key: true, shown: false }
      - name: created_at
        sql: "{CUBE}.created_at" # a comment
        type: time
        granularities:
          - { name: fiscal_year, interval: 1 year, origin: "2024-04-01", title: Fiscal year }
          - { name: sunday_week, interval: 1 week, offset: -1 day }
      - { name: day, sql: day, type: time, local_time: true }
      - { name: place, type: geo, latitude: { sql: lat }, longitude: { sql: "{CUBE}.lon" } }
      - { name: currency, type: switch, values: [USD, EUR] }
      - { name: number_of_items, sql: "{items.count}", type: number, sub_query: true, propagate_filters_to_sub_query: true }
      - name: size
        type: string
        case:
          when: [{ sql: "{CUBE}.s = 'xl'", label: XL }, { sql: "{created_at} IS NULL", label: { sql: "{CUBE}.s" } }]
          else: { label: Unknown }
      - { name: email, sql: email, type: string, mask: { sql: "'***' || right({CUBE}.email, 4)" }, format: { type: link, label: L } }
      - { name: age, sql: age, type: number, mask: -1 }
    measures:
      - { name: count, type: count, drill_members: [id, users.city], mask: 0 }
      - { name: amount, type: sum, sql: "{CUBE}.amount", filters: [{ sql: "{CUBE}.paid" }], format: currency }
      - { name: ratio, type: number, sql: "1.0 * {amount} / NULLIF({count}, 0)", format: percent }
      - { name: median, type: number_agg, sql: "median({CUBE}.amount)" }
      - { name: rolling, type: sum, sql: amount, rolling_window: { trailing: 1 month, leading: unbounded, offset: start } }
      - { name: ytd, type: sum, sql: amount, rolling_window: { type: to_date, granularity: fiscal_year } }
      - { name: last_year, multi_stage: true, type: number, sql: "{amount}", time_shift: [{ time_dimension: created_at, interval: 1 year, type: prior }] }
      - { name: share, multi_stage: true, type: number, sql: "{amount}", group_by: [currency] }
      - { name: daily, multi_stage: true, type: avg, sql: "{amount}", add_group_by: [orders.day] }
      - name: in_currency
        multi_stage: true
        type: number
        case: { switch: "{CUBE.currency}", when: [{ value: EUR, sql: "{amount}" }], else: { sql: "{count}" } }
    segments:
      - { name: open, sql: "{CUBE}.status = 'open'" }
    hierarchies:
      - { name: where, title: Where, levels: [users.city, size] }
    access_policy:
      - group: merchant
        conditions: [{ if: "{ securityContext.active and userAttributes.level >= 3 or 'a' in groups }" }]
        row_level:
          filters:
            - { member: id, operator: equals, values: ["{ userAttributes.merchant_id }", 7] }
            - or:
                - { member: created_at, operator: inDateRange, values: ["2024-01-01", "2024-12-31"] }
                - and: [{ member: email, operator: set }, { member: orders.size, operator: notContains, values: [x] }]
        member_level: { excludes: [email] }
        member_masking: { includes: [email] }
      - groups: [team, "*"]
        embed_tenants: true
        row_level: { allow_all: true }
  - { name: old_orders, extends: orders, sql: "SELECT * FROM x WHERE y = '\\\\{1\\\\}';" }
  - name: users
    sql: |
      SELECT * FROM users -- all
    dimensions: [{ name: id, sql: id, type: number, primary_key: true }, { name: city, sql: city, type: string }]
  - name: items
    sql_table: items
    joins: [{ name: orders, relationship: belongs_to, sql: "{CUBE}.order_id = {orders.id}" }]
    dimensions: [{ <<: *id, title: Item }]
    measures: [{ name: count, type: count }]
views:
  - name: sales
    cubes:
      - { join_path: orders, includes: "*", excludes: [id] }
      - join_path: orders.users
        prefix: true
        alias: buyer
        includes: [{ name: city, alias: town, title: Town, description: D, format: id, meta: { a: 1 } }]
      - { join_path: items, includes: [count], prefix: true }
    folders:
      - { name: Basic, includes: [amount, { name: Deep, includes: "*" }, where] }
    access_policy: [{ group: "*", row_level: { filters: [{ member: buyer_town, operator: notEquals, values: [Oslo] }] } }]
  - { name: sales2, extends: sales, public: false }
`;
