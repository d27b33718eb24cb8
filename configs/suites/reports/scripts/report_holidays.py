"""The anniversary that Berlin made a holiday for once."""

import holidays

berlin = holidays.country_holidays("DE", subdiv="BE", years=2028)
assert "2028-06-17" in berlin, sorted(f"{day:%m-%d}" for day in berlin)
