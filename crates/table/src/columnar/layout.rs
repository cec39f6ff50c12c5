//! The schemas under which the rows of a Parquet file are copied to another.
//!
//! Arrow lacks some of what Parquet can store: months beside days in an interval, decimals wider than their precision
//! needs, maps whose key may be null, types that a later version of the format brings. Rows are therefore not copied as
//! what their values mean. They are read under the *plain* schema, which has the columns as they are stored: physical
//! types, and which groups are optional or repeated, but no annotation. They are written under the *kept* schema, the one
//! of the file. So every value comes out with the bits that it had, whatever it means.
//!
//! There are two exceptions. Time stamps of INT96, which are obsolete, can be read but not written: they become time stamps
//! of INT64. An annotation that this program does not know cannot be written either, and is left out.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{LogicalType, Repetition, TimeUnit as ParquetUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::input::Units;

/// What the file says of itself, under its plain schema.
pub(super) fn plain(metadata: &ParquetMetaData) -> Result<ParquetMetaData, ParquetError> {
    let file = metadata.file_metadata();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(bare(file.schema())?)));
    let file = FileMetaData::new(file.version(), file.num_rows(), None, None, schema, None);
    Ok(ParquetMetaData::new(file, metadata.row_groups().to_vec()))
}

fn bare(of: &Type) -> Result<Type, ParquetError> {
    match of {
        Type::PrimitiveType { physical_type, type_length, .. } => {
            Type::primitive_type_builder(of.name(), *physical_type)
                .with_repetition(repetition(of))
                .with_length(*type_length)
                .build()
        }
        Type::GroupType { fields, .. } => {
            let fields = fields.iter().map(|field| bare(field).map(Arc::new)).collect::<Result<_, _>>()?;
            group(of, fields).build()
        }
    }
}

/// A group of that name and repetition. The root has no repetition.
fn group(of: &Type, fields: Vec<TypePtr>) -> parquet::schema::types::GroupTypeBuilder<'_> {
    let builder = Type::group_type_builder(of.name()).with_fields(fields);
    if of.get_basic_info().has_repetition() { builder.with_repetition(repetition(of)) } else { builder }
}

fn repetition(of: &Type) -> Repetition {
    let info = of.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

/// The schema of the output: the one of the file and these new columns.
pub(super) fn kept(
    schema: &SchemaDescriptor,
    units: &Units,
    new: &[FieldRef],
) -> Result<SchemaDescriptor, ParquetError> {
    let root = schema.root_schema_ptr();
    let mut fields = Vec::new();
    let mut leaf = 0;
    for field in root.get_fields() {
        fields.push(writable(field, &mut leaf, units)?);
    }
    let new = ArrowSchemaConverter::new().convert(&Schema::new(new.to_vec()))?;
    fields.extend(new.root_schema().get_fields().iter().cloned());
    Ok(SchemaDescriptor::new(Arc::new(Type::group_type_builder(root.name()).with_fields(fields).build()?)))
}

/// The type as it can be written. `leaf` counts the columns.
fn writable(of: &TypePtr, leaf: &mut usize, units: &Units) -> Result<TypePtr, ParquetError> {
    let info = of.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let known = !matches!(info.logical_type_ref(), Some(LogicalType::_Unknown { .. }));
    match of.as_ref() {
        Type::PrimitiveType { physical_type, type_length, .. } => {
            let unit = units.get(leaf);
            *leaf += 1;
            let (physical, meaning) = match (unit, known) {
                (Some(unit), _) => (Physical::INT64, Some(LogicalType::timestamp(false, stamp(*unit)))),
                (None, true) => return Ok(of.clone()),
                (None, false) => (*physical_type, None),
            };
            let builder = Type::primitive_type_builder(of.name(), physical).with_repetition(repetition(of));
            let length = if unit.is_some() { -1 } else { *type_length };
            Ok(Arc::new(builder.with_length(length).with_logical_type(meaning).with_id(id).build()?))
        }
        Type::GroupType { fields: before, .. } => {
            let mut fields = Vec::with_capacity(before.len());
            for field in before {
                fields.push(writable(field, leaf, units)?);
            }
            if known && fields.iter().zip(before).all(|(after, before)| Arc::ptr_eq(after, before)) {
                return Ok(of.clone());
            }
            let meaning = info.logical_type_ref().filter(|_| known).cloned();
            let builder = group(of, fields).with_converted_type(info.converted_type());
            Ok(Arc::new(builder.with_logical_type(meaning).with_id(id).build()?))
        }
    }
}

fn stamp(unit: Option<TimeUnit>) -> ParquetUnit {
    match unit {
        Some(TimeUnit::Nanosecond) => ParquetUnit::NANOS,
        _ => ParquetUnit::MICROS,
    }
}

/// The Arrow schema in which time stamps of INT96 have the unit that holds them, and, with `views`, text and binary columns
/// are views. These need no copy: rows with the same entry of a dictionary share its bytes.
pub(super) fn read_as(schema: &Schema, units: &Units, views: bool) -> SchemaRef {
    let mut leaf = 0;
    let to = &mut |data_type: &DataType| {
        use DataType as D;
        leaf += 1;
        match (data_type, units.get(&(leaf - 1))) {
            (D::Timestamp(_, zone), Some(Some(unit))) => D::Timestamp(*unit, zone.clone()),
            (D::Utf8 | D::LargeUtf8, _) if views => D::Utf8View,
            (D::Binary | D::LargeBinary, _) if views => D::BinaryView,
            (other, _) => other.clone(),
        }
    };
    let fields: Vec<_> = schema.fields().iter().map(|field| with_leaves(field, to)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The field with other types of its leaves.
fn with_leaves(field: &FieldRef, to: &mut dyn FnMut(&DataType) -> DataType) -> FieldRef {
    use DataType as D;
    let mut child = |field: &FieldRef| with_leaves(field, to);
    let data_type = match field.data_type() {
        D::Struct(fields) => D::Struct(fields.iter().map(child).collect()),
        D::List(item) => D::List(child(item)),
        D::LargeList(item) => D::LargeList(child(item)),
        D::ListView(item) => D::ListView(child(item)),
        D::LargeListView(item) => D::LargeListView(child(item)),
        D::FixedSizeList(item, length) => D::FixedSizeList(child(item), *length),
        D::Map(entries, sorted) => D::Map(child(entries), *sorted),
        leaf => to(leaf),
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}
