"""Writes the numbering plans into `plans.rs`: `pip install phonenumbers==9.0.43 && python3 plans.py`.

The package is libphonenumber's metadata (`PhoneNumberMetadata.xml`) in Python, under the same version. Each territory
gives its calling code, its international prefix (or the preferred one; none if the prefix depends on the carrier), its
trunk prefix, and the lengths of all its national numbers up to 15 digits. Territories are in the order of their calling
codes; within a code the main one comes first, then the others by name.

It also writes `examples.csv`, the example numbers of all territories for a test: of fixed lines and of mobiles, in the
national form, in the international one, and in E.164.
"""

import pathlib
import re

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumberFormat, PhoneNumberType


def plan(territory):
    prefixes = (territory.international_prefix, territory.preferred_international_prefix)
    international = next((prefix for prefix in prefixes if prefix and prefix.isdigit()), "")
    lengths = sum(1 << length for length in territory.general_desc.possible_length if 0 < length < 16)
    texts = f'"{territory.id}", {territory.country_code}, "{international}", "{territory.national_prefix or ""}"'
    return f"    plan({texts}, 0x{lengths:04x}),"


def examples():
    forms = PhoneNumberFormat.NATIONAL, PhoneNumberFormat.INTERNATIONAL, PhoneNumberFormat.E164
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for name, kind in ("fixed", PhoneNumberType.FIXED_LINE), ("mobile", PhoneNumberType.MOBILE):
            number = phonenumbers.example_number_for_type(region, kind)
            if number:
                yield ",".join([region, name, *(phonenumbers.format_number(number, form) for form in forms)])


def main():
    territories = [PhoneMetadata.metadata_for_region(region) for region in phonenumbers.SUPPORTED_REGIONS]
    worldwide = phonenumbers.COUNTRY_CODES_FOR_NON_GEO_REGIONS
    territories += [PhoneMetadata.metadata_for_nongeo_region(code) for code in worldwide]
    territories.sort(key=lambda of: (of.country_code, not of.main_country_for_code, of.id))
    file = pathlib.Path(__file__).with_suffix(".rs")
    text = re.sub(r'VERSION: &str = ".*"', f'VERSION: &str = "{phonenumbers.__version__}"', file.read_text())
    head = text[: text.index("pub(super) const PLANS")]
    rows = "\n".join(map(plan, territories))
    file.write_text(f"{head}pub(super) const PLANS: [Plan; {len(territories)}] = [\n{rows}\n];\n")
    source = f"# The example numbers of libphonenumber {phonenumbers.__version__}, Apache License 2.0."
    lines = [source, "region,kind,national,international,e164", *examples()]
    file.with_name("examples.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
